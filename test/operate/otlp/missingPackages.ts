import { registerHooks } from 'node:module';

// Loaded with --import: the exporters of OpenTelemetry cannot be found, as if they were not installed.
registerHooks({
  resolve(specifier, context, next) {
    if (!specifier.startsWith('@opentelemetry/exporter-')) return next(specifier, context);
    const message = `Cannot find package '${specifier}' imported from ${context.parentURL}`;
    throw Object.assign(new Error(message), { code: 'ERR_MODULE_NOT_FOUND' });
  },
});
