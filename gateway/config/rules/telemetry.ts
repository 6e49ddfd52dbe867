import { isLoopback } from '../schema/network.ts';
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

/** A webhook with an empty variable as its URL is off; one without a URL is a mistake. */
export const receiverNeedsUrl: ConfigRule = ({ source, draft: { notify } }) =>
  notify.flatMap((_one, index) => {
    if (has(source, ['notify', index, 'url'])) return [];
    const remedy = `Write url: \${HOOK}, or remove the entry.`;
    return [faultAt(source, ['notify', index], 'The entry has no url.', remedy)];
  });

/** Client names and the path of a Slack webhook are not for everyone on the network. */
export const receiverWithoutTls: WarningRule = ({ source, draft: { notify } }) =>
  notify.flatMap(({ url }, index) => {
    if (url === undefined || !url.startsWith('http://')) return [];
    const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
    if (isLoopback(host)) return [];
    const message = `Notifications are sent to ${host} without encryption.`;
    return [faultAt(source, ['notify', index, 'url'], message, 'Use https://.')];
  });

/** Without a signature, a receiver cannot tell a notification from a forged request. */
export const receiverWithoutSecret: WarningRule = ({ source, draft: { notify } }) =>
  notify.flatMap(({ url, format, secret }, index) => {
    if (url === undefined || format === 'slack' || secret !== undefined) return [];
    const remedy = `Write secret: \${HOOK_SECRET}, and verify the signature at the receiver.`;
    return [faultAt(source, ['notify', index], 'The notifications are not signed.', remedy)];
  });

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
