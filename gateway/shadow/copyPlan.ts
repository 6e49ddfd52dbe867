import { createHash } from 'node:crypto';
import type { ShadowSettings } from '../config/shadowSettings.ts';
import type { Snapshot, Version } from '../config/snapshot.ts';
import { nextVersion, pathEndingAt, prependStep, type SuccessorPath } from '../lifecycle/stage.ts';
import { redactPath, redactQuery, type SecretNames, secretNamesIn } from '../observability/redact.ts';
import { PathTable } from '../shared/pathTable.ts';
import { FairShare } from './fairShare.ts';

/** The shadow of one version, prepared for its requests. */
export interface CopyPlan {
  readonly version: Version;
  readonly settings: ShadowSettings;
  readonly key: string;
  readonly to: Version;
  /** From the version to `to`. */
  readonly successorPath: SuccessorPath;
  /** Whether responses of `to` are compared after the version's adapter has changed them. */
  readonly isAdapted: boolean;
  readonly denied: PathTable<string>;
  /** The request fields that are not copied, in lower case. */
  readonly identifying: ReadonlySet<string>;
  readonly secrets: SecretNames;
  readonly share: FairShare;
}

/** Equal as long as the settings of the shadow are. */
export function shadowKey({ name, shadow }: Pick<Version, 'name' | 'shadow'>): string {
  const hash = createHash('sha256').update(JSON.stringify(shadow)).digest('hex');
  return `${name} ${hash.slice(0, 16)}`;
}

/** Equal as long as the settings of `drift` are. */
export function driftKey({ name, drift }: Pick<Version, 'name' | 'drift'>): string {
  const hash = createHash('sha256').update(JSON.stringify(drift)).digest('hex');
  return `${name} drift-${hash.slice(0, 16)}`;
}

/** Undefined: the version has no shadow. `before`: the former plan; its budget is kept if the settings are the same. */
export function planOf(
  version: Version,
  snapshot: Snapshot,
  fields: readonly string[],
  before: CopyPlan | undefined,
): CopyPlan | undefined {
  const { shadow: settings } = version;
  const to = settings && snapshot.versions.get(settings.to);
  if (settings === undefined || to === undefined) return undefined;
  const key = shadowKey(version);
  const share = before?.key === key ? before.share : new FairShare(settings);
  const denied = new PathTable(
    [...Map.groupBy(settings.deny, ({ path }) => path)].map(([path, rows]) => {
      return [path, rows.map(({ method }) => method).join(' ')] as const;
    }),
  );
  const identifying = new Set([...fields, 'authorization', 'cookie', 'referer', 'from']);
  const secrets = secretNamesIn(snapshot.log.redact);
  return {
    version,
    settings,
    isAdapted: version.adapter?.mode === 'shadow' && version.adapter.from === to.name,
    key,
    to,
    successorPath: pathBetween(version, to, snapshot),
    denied,
    identifying,
    secrets,
    share,
  };
}

/** Through `moved`, if `to` is a successor. Otherwise both versions have the same paths. */
function pathBetween(version: Version, to: Version, snapshot: Snapshot): SuccessorPath {
  const towards = (from: Version): SuccessorPath | undefined => {
    if (from === to) return pathEndingAt(to);
    const next = nextVersion(from, snapshot);
    // A successor is a higher major, so this ends.
    const rest = next && next.major <= to.major ? towards(next) : undefined;
    return next && rest && prependStep(from, next, rest);
  };
  return towards(version) ?? pathEndingAt(to);
}

/** A GET in `deny` includes HEAD. */
export function isDenied({ denied }: CopyPlan, method: string, resource: string): boolean {
  const methods = denied.find(resource)?.value.split(' ') ?? [];
  return methods.includes(method) || (method === 'HEAD' && methods.includes('GET'));
}

/** Whether the path, or a parameter of the query, holds a secret that must not be copied. `query`: without `?`. */
export function hasSecret({ settings, secrets }: CopyPlan, path: string, query: string): boolean {
  if (settings.credentials !== 'drop') return false;
  return redactPath(path, secrets) !== path || (query !== '' && redactQuery(query, secrets) !== query);
}

// A copy must get the whole response, not a 304 or a part.
const notCopied = /^(?:if-|range$|accept-encoding$|x-shadow$)/;
// The address of the client, as proxies write it.
const addressName =
  /^forwarded$|^x-(?:original-)?forwarded|-ip$|^x-(?:client-|envoy-external-address$|azure-(?:client|socket)ip$)/;
// What proxies that authenticate clients write about them, and RFC 9440 and RFC 9449.
const identityName =
  /^(?:x-)?(?:amzn-oidc|goog-authenticated-user|ms-client-principal|client-cert|ssl-|remote-user|webauth-|user-(?!agent$))|^(?:dpop|baggage)$/;
const noNames: SecretNames = new Set();

interface CopiedRequest {
  /** The fields to pass on: `Name: value` lines. */
  readonly fields: { readonly passed: string };
  readonly host: string;
  readonly clientAddress: string;
  readonly peer: { readonly scheme: string };
  readonly id: string;
}

/** The fields of a copy, without those that depend on where it is sent. Alternating names and values. */
export function copiedFields({ settings, identifying }: CopyPlan, request: CopiedRequest): readonly string[] {
  const isPassed = settings.credentials === 'pass';
  const fields: string[] = [];
  for (const line of request.fields.passed.split('\r\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon));
    const lower = name.toLowerCase();
    if (lower === '' || notCopied.test(lower)) continue;
    if (isPassed || !(identifying.has(lower) || isPersonal(lower))) fields.push(name, line.slice(colon + 2));
  }
  if (isPassed) fields.push('X-Forwarded-For', request.clientAddress);
  if (request.host !== '') fields.push('X-Forwarded-Host', request.host);
  // Some backends refuse requests without a User-Agent.
  if (identifying.has('user-agent') && !isPassed) fields.push('User-Agent', 'version-gateway-shadow');
  // Nothing has to be decoded then, unless the backend ignores it.
  fields.push('Accept-Encoding', 'identity', 'X-Forwarded-Proto', request.peer.scheme);
  fields.push('X-Request-Id', request.id, 'X-Shadow', '1');
  return fields;
}

function isPersonal(name: string): boolean {
  return addressName.test(name) || identityName.test(name) || isSecretName(name);
}

function isSecretName(name: string): boolean {
  return redactQuery(`${name}=1`, noNames) !== `${name}=1`;
}
