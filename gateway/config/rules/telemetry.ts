import { faultAt, has, valueAt } from '../source.ts';
import type { ConfigRule, WarningRule } from './rule.ts';

/** Without a URL nothing is exported. Whoever writes the other keys expects an export. */
export const telemetryNeedsCollector: ConfigRule = ({ source }) => {
  const keys = Object.keys(valueAt(source.tree, ['telemetry']) ?? {});
  if (keys.length === 0 || has(source, ['telemetry', 'otlp'])) return [];
  return [faultAt(source, ['telemetry'], 'telemetry has no otlp.', 'Write otlp: http://localhost:4318, or remove it.')];
};

/** Collectors listen on 4317 for gRPC and on 4318 for HTTP. */
export const collectorPort: WarningRule = ({ source, draft: { telemetry } }) => {
  if (telemetry.otlp === undefined || new URL(telemetry.otlp).port !== '4317') return [];
  const message = 'Collectors usually accept gRPC on port 4317, and the gateway exports over HTTP.';
  return [faultAt(source, ['telemetry', 'otlp'], message, 'Use port 4318, unless your collector differs.')];
};

/** The share of new traces by OTEL_TRACES_SAMPLER. Undefined if it is not set, or not usable. */
export function sampleIn(env: NodeJS.ProcessEnv): number | undefined {
  // The gateway always follows the flag of a parent, so both forms have the same effect here.
  const sampler = env['OTEL_TRACES_SAMPLER']?.toLowerCase().replace(/^parentbased_/, '');
  if (sampler === 'always_on') return 1;
  if (sampler === 'always_off') return 0;
  if (sampler !== 'traceidratio') return undefined;
  const ratio = Number(env['OTEL_TRACES_SAMPLER_ARG'] || 1);
  return ratio >= 0 && ratio <= 1 ? ratio : undefined;
}
