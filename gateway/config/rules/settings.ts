import { isIP } from 'node:net';
import { isPublicAddress } from '../../shared/httpClient.ts';
import { ExpandedText } from '../expand.ts';
import type { Path } from '../fault.ts';
import { isLoopback } from '../schema/network.ts';
import { isEmptyVariable } from '../schema/scalar.ts';
import type { HostPort } from '../snapshot.ts';
import { faultAt, hasValue, placeKey, valueAt } from '../source.ts';
import { unusedFilesProblem } from '../storeUrl.ts';
import { type ConfigRule, isInService, type WarningRule } from './rule.ts';

/** The admin listener can reload the gateway and shows its clients, so it needs a token unless it is on loopback. */
export const openAdminNeedsToken: ConfigRule = ({ source, config: { gateway } }) => {
  const token = valueAt(source.tree, ['gateway', 'admin_token']);
  const isEmpty = isEmptyVariable(token);
  if (isLoopback(gateway.admin.host) || (token !== undefined && !isEmpty)) return [];
  const message = `${addressText(gateway.admin)} can be reached from other machines, and ${isEmpty ? 'admin_token is empty' : 'there is no admin_token'}.`;
  const remedy = isEmpty ? remedyForEmpty(token) : `Write admin_token: \${ADMIN_TOKEN}`;
  return [faultAt(source, ['gateway', 'admin'], message, `${remedy}, or listen on 127.0.0.1:${gateway.admin.port}.`)];
};

/** The remedy for a token whose variable is empty or not set: `${NAME:-}`. */
function remedyForEmpty(token: unknown): string {
  const [, name = 'its variable'] =
    token instanceof ExpandedText ? (/\$\{?([A-Za-z_]\w*)/.exec(token.written) ?? []) : [];
  return `Set ${name}, for example to the output of \`openssl rand -hex 24\``;
}

/** Two listeners cannot share a port. */
export const listenersDiffer: ConfigRule = ({ source, config: { gateway } }) => {
  const { listen, admin } = gateway;
  const isSameHost = listen.host === admin.host || isWildcard(listen.host) || isWildcard(admin.host);
  if (listen.port !== admin.port || listen.port === 0 || !isSameHost) return [];
  const key = hasValue(source, ['gateway', 'admin']) ? 'admin' : 'listen';
  const message = `listen ${addressText(listen)} and admin ${addressText(admin)} are the same port.`;
  return [faultAt(source, ['gateway', key], message, 'Give one of them another port.')];
};

function isWildcard(host: string): boolean {
  return host === '' || host === '0.0.0.0' || host === '::';
}

function addressText({ host, port }: HostPort): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** A password in routes.yaml ends up in version control. */
export const storePasswordIsNotWritten: ConfigRule = ({ source, config: { fleet } }) => {
  const at: Path = ['fleet', 'store'];
  // In the tree, a value with variables is an `ExpandedText`, or a plain text if it is in quotes.
  const isVariable = valueAt(source.tree, at) instanceof ExpandedText || source.quotedVariables?.has(placeKey(at));
  const hasPassword = /^\w+:\/\/[^@/]*:[^@]*@|[?&]password=/.test(fleet.store ?? '');
  if (!hasPassword || isVariable) return [];
  const message = 'The URL contains a password.';
  const remedy = `Write store: \${FLEET_STORE} and set the variable, or remove the password and set password_file.`;
  return [faultAt(source, at, message, remedy)];
};

/** A CA that is not used would look as if the server were verified. */
export const storeFilesAreUsed: ConfigRule = ({ source, config: { fleet } }) => {
  const problem = unusedFilesProblem(fleet.store ?? '');
  return problem === undefined ? [] : [faultAt(source, ['fleet', 'store'], problem.message, problem.remedy)];
};

/** One late heartbeat must not make a gateway silent. */
export const silentAfterHeartbeats: ConfigRule = ({ source, config: { fleet } }) => {
  if (fleet.silent_after >= 2 * fleet.heartbeat) return [];
  const key = hasValue(source, ['fleet', 'silent_after']) ? 'silent_after' : 'heartbeat';
  const message = 'A gateway would be silent before its second heartbeat is due.';
  return [faultAt(source, ['fleet', key], message, 'Make silent_after at least twice as long as heartbeat.')];
};

/** A probe that takes longer than the interval delays the next one. */
export const slowProbes: WarningRule = ({ source, config, entries }) => {
  const { interval, timeout } = config.defaults.health;
  const settings = entries
    .filter(({ route }) => route.health?.interval !== undefined || route.health?.timeout !== undefined)
    .map(({ key, route: { health } }) => ({
      at: ['routes', key, 'health', 'timeout'] as Path,
      interval: health?.interval ?? interval,
      timeout: health?.timeout ?? timeout,
    }));
  settings.unshift({ at: ['defaults', 'health', 'timeout'], interval, timeout });
  return settings
    .filter((setting) => setting.timeout > setting.interval)
    .map(({ at }) =>
      faultAt(source, at, 'A probe may take longer than the interval between two probes.', 'Shorten timeout.'),
    );
};

/** A trusted proxy may write any address into X-Forwarded-For. */
export const everyProxyIsTrusted: WarningRule = ({ source, config: { gateway } }) =>
  gateway.trusted_proxies
    .filter((cidr) => cidr.endsWith('/0'))
    .map((cidr) => {
      const message = `${cidr} trusts every address: any client can claim to be any other.`;
      return faultAt(source, ['gateway', 'trusted_proxies'], message, 'Name the networks of your own proxies.');
    });

/** An entry whose `url` is an empty variable is off. An entry without `url` is a mistake. */
export const receiverNeedsUrl: ConfigRule = ({ source, config: { notify } }) =>
  notify.flatMap((_receiver, index) => {
    if (hasValue(source, ['notify', index, 'url'])) return [];
    const remedy = `Write url: \${HOOK}, or remove the entry.`;
    return [faultAt(source, ['notify', index], 'The entry has no `url`.', remedy)];
  });

/** Webhooks are told apart by URL and format. A second entry with the same URL and format would replace the first. */
export const receiversDiffer: ConfigRule = ({ source, config: { notify } }) =>
  notify.flatMap(({ url, format }, index) => {
    const first = notify.findIndex((one) => url !== undefined && one.url === url && one.format === format);
    if (first === -1 || first === index) return [];
    const message = `notify[${first}] has the same url and the same format.`;
    return [faultAt(source, ['notify', index], message, 'Write all events of a webhook in one entry.')];
  });

/** Nothing could ever be sent. What a name resolves to is only known when an event is sent. */
export const receiverIsPermitted: ConfigRule = ({ source, config: { notify } }) =>
  notify.flatMap(({ url, networks }, index) => {
    if (url === undefined || networks === 'any') return [];
    const host = hostIn(url);
    if (isIP(host) === 0 || isPublicAddress(host)) return [];
    const message = `${host} is not a public address, so \`networks: public\` refuses it.`;
    return [faultAt(source, ['notify', index, 'url'], message, 'Write networks: any, or another url.')];
  });

/** Without TLS, others on the network can read client names and the secret path of a Slack webhook. */
export const receiverWithoutTls: WarningRule = ({ source, config: { notify } }) =>
  notify.flatMap(({ url }, index) => {
    if (url === undefined || !url.startsWith('http://')) return [];
    const host = hostIn(url);
    if (isLoopback(host)) return [];
    const message = `Notifications are sent to ${host} without encryption.`;
    return [faultAt(source, ['notify', index, 'url'], message, 'Use https://.')];
  });

function hostIn(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}

/** Without a signature, a receiver cannot tell a notification from a forged request. */
export const receiverWithoutSecret: WarningRule = ({ source, config: { notify } }) =>
  notify.flatMap(({ url, format, secret }, index) => {
    if (url === undefined || format === 'slack' || secret !== undefined) return [];
    const remedy = `Write secret: \${HOOK_SECRET}, and verify the signature at the receiver.`;
    return [faultAt(source, ['notify', index], 'The notifications are not signed.', remedy)];
  });

/** Every version is a tombstone, or past a sunset with `after_sunset: gone`. */
export const nothingInService: WarningRule = (context, now) => {
  // A file with `apis` may have no API at the root.
  if (context.entries.length === 0 || context.entries.some((entry) => isInService(entry, now))) return [];
  return [
    faultAt(
      context.source,
      ['routes'],
      'Every version is retired, so every request is answered 410.',
      'Add a version that is not retired.',
    ),
  ];
};

/** Without a URL nothing is exported, although the other keys show that an export is wanted. */
export const telemetryNeedsCollector: ConfigRule = ({ source }) => {
  const keys = Object.keys(valueAt(source.tree, ['telemetry']) ?? {});
  if (keys.length === 0 || hasValue(source, ['telemetry', 'otlp'])) return [];
  return [
    faultAt(
      source,
      ['telemetry'],
      'telemetry has no `otlp`.',
      'Write otlp: http://localhost:4318, or remove telemetry.',
    ),
  ];
};

/** Collectors listen on 4317 for gRPC and on 4318 for HTTP. */
export const collectorPort: WarningRule = ({ source, config: { telemetry } }) => {
  if (telemetry.otlp === undefined || new URL(telemetry.otlp).port !== '4317') return [];
  const message = 'Collectors usually accept gRPC on port 4317, and the gateway exports over HTTP.';
  return [faultAt(source, ['telemetry', 'otlp'], message, 'Use port 4318, unless your collector differs.')];
};

/** The share of new traces that OTEL_TRACES_SAMPLER sets. Undefined if the variable is not set, or not usable. */
export function sampleFrom(env: NodeJS.ProcessEnv): number | undefined {
  // The gateway always follows the flag of a parent, so the prefix has no effect here.
  const sampler = env['OTEL_TRACES_SAMPLER']?.toLowerCase().replace(/^parentbased_/, '');
  if (sampler === 'always_on') return 1;
  if (sampler === 'always_off') return 0;
  if (sampler !== 'traceidratio') return undefined;
  const ratio = Number(env['OTEL_TRACES_SAMPLER_ARG'] || 1);
  return ratio >= 0 && ratio <= 1 ? ratio : undefined;
}
