import { createHash } from 'node:crypto';
import type { ShadowSettings } from '../../../config/shadowSettings.ts';
import type { Snapshot, Version } from '../../../config/snapshot.ts';
import { PathTable } from '../../../shared/pathTable.ts';
import { redactPath, redactQuery, type SecretNames, secretNamesIn } from '../../../usage/observability/redact.ts';
import { chainEndingAt, nextVersion, prependStep, type VersionChain } from '../../../versions/lifecycle/stage.ts';
import { FairShare } from './fairShare.ts';
import { queryParameters } from './methodOverride.ts';

/** The shadow of one version, prepared for its requests. */
export interface CopyPlan {
  readonly version: Version;
  readonly settings: ShadowSettings;
  readonly key: string;
  readonly to: Version;
  /** From the version to `to`. */
  readonly versionChain: VersionChain;
  /** Whether responses of `to` are compared after the version's adapter has changed them. */
  readonly isAdapted: boolean;
  /** Method → the path templates of the routes in `deny` with this method. */
  readonly denied: ReadonlyMap<string, PathTable<true>>;
  /** The fields of `usage.identify`, in lower case. They are not copied. */
  readonly identifying: ReadonlySet<string>;
  readonly secrets: SecretNames;
  readonly share: FairShare;
}

/** Identifies the settings of a shadow: other settings have another key. */
export function shadowKey({ name, shadow }: Pick<Version, 'name' | 'shadow'>): string {
  const hash = createHash('sha256').update(JSON.stringify(shadow)).digest('hex');
  return `${name} ${hash.slice(0, 16)}`;
}

/** Identifies the settings of `drift`: other settings have another key. */
export function driftKey({ name, drift }: Pick<Version, 'name' | 'drift'>): string {
  const hash = createHash('sha256').update(JSON.stringify(drift)).digest('hex');
  return `${name} drift-${hash.slice(0, 16)}`;
}

/** Undefined: the version has no shadow, or no copies can be sent. `before`: the former plan; its `share` is kept if the settings are the same. */
export function copyPlanOf(
  version: Version,
  snapshot: Snapshot,
  identifyingFields: readonly string[],
  before: CopyPlan | undefined,
): CopyPlan | undefined {
  const { shadow: settings } = version;
  const to = settings && snapshot.versions.get(settings.to);
  // If an adapter serves `to`, copies would go to the backend of another version, which does not have the paths of `to`.
  if (settings === undefined || to === undefined || to.adapter?.mode === 'serve') return undefined;
  const key = shadowKey(version);
  const share = before?.key === key ? before.share : new FairShare(settings);
  // A table for each method, because a table finds only one template for a path: `HEAD /a/all` must not hide `GET /a/{id}`.
  const denied = new Map(
    [...Map.groupBy(settings.deny, ({ method }) => method)].map(([method, rows]) => {
      return [method, new PathTable(rows.map(({ path }) => [comparablePath(path), true] as const))] as const;
    }),
  );
  const identifying = new Set(identifyingFields);
  const secrets = secretNamesIn(snapshot.log.redact);
  return {
    version,
    settings,
    isAdapted: version.adapter?.mode === 'shadow' && version.adapter.from === to.name,
    key,
    to,
    versionChain: chainBetween(version, to, snapshot),
    denied,
    identifying,
    secrets,
    share,
  };
}

/** How paths of `version` become paths of `to`: through `moved` if `to` is a successor. Otherwise the paths stay the same. */
export function chainBetween(version: Version, to: Version, snapshot: Snapshot): VersionChain {
  const chainFrom = (from: Version): VersionChain | undefined => {
    if (from === to) return chainEndingAt(to);
    const next = nextVersion(from, snapshot);
    // A successor is a higher major, so the recursion ends.
    const chainFromNext = next && next.major <= to.major ? chainFrom(next) : undefined;
    return next && chainFromNext && prependStep(from, next, chainFromNext);
  };
  return chainFrom(version) ?? chainEndingAt(to);
}

/** Whether `deny` lists the route. A GET in `deny` includes HEAD. */
export function isDenied({ denied }: CopyPlan, method: string, resource: string): boolean {
  const path = comparablePath(resource);
  const tables = [denied.get('GET'), method === 'HEAD' ? denied.get('HEAD') : undefined];
  return tables.some((table) => table?.find(path) !== undefined);
}

/**
 * The same text for all paths that some backend treats alike: `/%65xport` (RFC 3986 §6.2.2.2), `/Export`, `//export` and
 * `/export;a=1`. A final slash is left to the `PathTable`.
 */
function comparablePath(path: string): string {
  return decodedPath(path)
    .toLowerCase()
    .replace(/;[^/]*/g, '')
    .replace(/\/{2,}/g, '/');
}

/** Decodes escapes, except those of characters that divide a URL or a path template. */
function decodedPath(path: string): string {
  return path.replace(/%[\da-f]{2}/gi, (escaped) => {
    const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    return /[!-~]/.test(character) && !/[/%?#{}]/.test(character) ? character : escaped;
  });
}

// Credentials of a scheme (RFC 9110 §11.4), or the start of a JSON Web Token.
const secretAtStart = /^\s*(?:(?:bearer|basic|digest|dpop|hawk|negotiate|ntlm|token)(?:[\s+]|%20)|(?-i:eyJ))/i;
// A JSON Web Token, a bearer token, or a key with one of the prefixes by which scanners find leaked keys.
const secretAnywhere =
  /(?<![\w-])(?:eyJ[\w-]+\.[\w-]+\.|[Bb]earer(?:[\s+]|%20)|[rs]k_(?:live|test)_|gh[oprsu]_|github_pat_|glpat-|xox[abeprs]-|AKIA[0-9A-Z]{12}|-----BEGIN)/;

/** Whether a request must not be copied, because its path or query contains a secret. `query`: without `?`. */
export function hasForbiddenSecret({ settings, secrets }: CopyPlan, path: string, query: string): boolean {
  return settings.credentials === 'drop' && containsSecret(secrets, path, query);
}

/** Whether the path or the query contains a secret. `query`: without `?`. */
export function containsSecret(secrets: SecretNames, path: string, query: string): boolean {
  if (redactPath(path, secrets) !== path || secretAnywhere.test(path)) return true;
  if (query === '') return false;
  if (redactQuery(query, secrets) !== query || secretAnywhere.test(query)) return true;
  return queryParameters(query).some((texts) =>
    texts.some((text) => secretAtStart.test(text) || secretAnywhere.test(text)),
  );
}

// A copy must get the whole response, not a 304 or a part. The last two fields are set anew for each copy.
const neverCopiedFields = /^(?:if-|range$|accept-encoding$|x-shadow$)/;
// With `credentials: drop`, only two kinds of fields are copied: those on which responses usually depend, and those of the contract.
const usuallyNeededFields = /^(?:accept(?:-[a-z]+)*|user-agent|content-(?:language|type)|prefer|x-requested-with)$/;
// These are not copied even if the contract lists them. They identify the client, by its address or by another property, and many of
// them are set by proxies. Client-Cert: RFC 9440. DPoP: RFC 9449.
const personalFields =
  /^(?:authorization|cookie|from|referer|forwarded|via|dpop|baggage)$|(?:^|-)(?:forwarded|client|remote|user|account|email|certs?|oidc|ip|clientip|socketip|addr|address|principal|identity|webauth|fdid|device-id)(?:-|$)|^(?:x-)?ssl-/;

interface CopiedRequest {
  /** The fields to pass on: `Name: value` lines. */
  readonly fields: { readonly passedLines: string };
  readonly host: string;
  readonly clientAddress: string;
  readonly peer: { readonly scheme: string };
  readonly id: string;
}

/** The fields of a copy, without those that depend on its destination. Alternating names and values. */
export function copiedFields(plan: CopyPlan, request: CopiedRequest): readonly string[] {
  const passesCredentials = plan.settings.credentials === 'pass';
  const fields: string[] = [];
  for (const line of request.fields.passedLines.split('\r\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon));
    const value = line.slice(colon + 2);
    const lowerName = name.toLowerCase();
    if (lowerName === '' || neverCopiedFields.test(lowerName)) continue;
    if (passesCredentials || isAnonymous(plan, lowerName, value)) fields.push(name, value);
  }
  if (passesCredentials) fields.push('X-Forwarded-For', request.clientAddress);
  if (request.host !== '') fields.push('X-Forwarded-Host', request.host);
  // Some backends refuse requests without a User-Agent, and that of the client was left out above.
  if (!passesCredentials && !isAnonymous(plan, 'user-agent', '')) fields.push('User-Agent', 'version-gateway-shadow');
  // With `identity` the response needs no decoding, unless the backend ignores the field.
  fields.push('Accept-Encoding', 'identity', 'X-Forwarded-Proto', request.peer.scheme);
  fields.push('X-Request-Id', request.id, 'X-Shadow', '1');
  return fields;
}

/** Whether a field may be copied with `credentials: drop`. `name`: in lower case. */
function isAnonymous({ version, identifying, secrets }: CopyPlan, name: string, value: string): boolean {
  const isListed =
    usuallyNeededFields.test(name) || (version.contract?.headers.includes(name) && !personalFields.test(name));
  if (!isListed || identifying.has(name) || secretAtStart.test(value) || secretAnywhere.test(value)) return false;
  // A name that is redacted in logs is a secret.
  return redactQuery(`${name}=1`, secrets) === `${name}=1`;
}
