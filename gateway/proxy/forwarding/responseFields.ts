import { listOfTokens, lowerCased } from '../../http1/grammar.ts';
import type { ResponseHead } from '../../http1/responseHead.ts';
import { http } from '../../shared/builtinHttp.ts';
import { httpDate, parseHttpDate } from '../../shared/httpDate.ts';
import {
  type ApiAuthorities,
  rewriteCookie,
  rewriteLink,
  rewriteReference,
  rewriteRefresh,
  type UrlRewriting,
} from './rewrite.ts';

/** How the fields of a backend's response are changed for the client. */
export interface ResponsePlan {
  /** Undefined for a version whose prefix is forwarded. */
  readonly urlRewriting: UrlRewriting | undefined;
  readonly authorities: ApiAuthorities;
  /** Undefined if neither the version nor the route ends: the lifecycle fields of the backend are then passed on. */
  readonly lifecycle: LifecycleFields | undefined;
  /** Undefined if the version answers all requests alike. */
  readonly cacheVariation: CacheVariation | undefined;
  readonly pseudonym: string;
  /** Whether trailers can follow: the client does not speak HTTP/1.0, and the method is not HEAD. */
  readonly trailers: boolean;
  /** Whether to add Strict-Transport-Security, if the backend does not send it. */
  readonly hsts: boolean;
}

/**
 * How the responses of a version depend on the client or on its preferences. Shared caches must not answer one client with the
 * response to another.
 */
export interface CacheVariation {
  /** The request fields on which responses depend. */
  readonly vary: readonly string[];
  /**
   * Whether a client may be identified by its address. `Vary` cannot list an address, so shared caches must not store responses.
   */
  readonly isPrivate: boolean;
}

/** How the responses of a version with `grease` depend on their requests. `other`: the variation that it has without `grease`. */
export function greasedVariation(other?: CacheVariation): CacheVariation {
  return { vary: [...(other?.vary ?? []), 'Prefer'], isPrivate: other?.isPrivate ?? false };
}

export interface LifecycleFields {
  readonly deprecation: string | undefined;
  readonly sunset: string | undefined;
  readonly links: readonly string[];
  /** When the deprecation begins, epoch ms. */
  readonly deprecatedAt: number | undefined;
}

const lifecycleNames = ['Deprecation', 'Sunset', 'Link'];

/**
 * The fields for the client, as alternating names and values. First the fields of the backend, without hop-by-hop fields, and with
 * the removed prefix restored in URLs; then the fields of the gateway.
 */
export function responseFields(head: ResponseHead, plan: ResponsePlan): string[] {
  const { lifecycle, cacheVariation, urlRewriting, authorities } = plan;
  const out: string[] = [];
  let { hsts } = plan;
  for (let at = 0; at < head.fields.length; at += 2) {
    const name = head.fields[at] as string;
    let value = head.fields[at + 1] as string;
    const lower = head.names[at >> 1] as string;
    if (head.connection.length > 0 && namedByConnection(lower, head)) continue;
    switch (lower) {
      case 'connection':
      case 'keep-alive':
      case 'proxy-connection':
      case 'proxy-authenticate':
      case 'proxy-authentication-info':
      case 'te':
      case 'transfer-encoding':
      case 'upgrade':
      // A request field that node:http would act on.
      case 'expect':
        continue;
      case 'trailer':
        if (!plan.trailers || !head.chunked || head.status === 204 || head.status === 304) continue;
        break;
      case 'content-length':
        // RFC 9110 §8.6: not allowed in 1xx and 204. Some clients expect a body if a 304 has Content-Length.
        if (head.status < 200 || head.status === 204 || head.status === 304) continue;
        break;
      case 'content-disposition':
        // This field is placed first: after a Content-Length, node:http would encode its bytes as UTF-8.
        if (!/[\x80-\xff]/.test(value)) break;
        out.unshift(name, value);
        continue;
      case 'link':
        if (urlRewriting) value = rewriteLink(value, urlRewriting, authorities);
        break;
      case 'location':
      case 'content-location':
        if (urlRewriting) value = rewriteReference(value, urlRewriting, authorities);
        break;
      case 'refresh':
        if (urlRewriting) value = rewriteRefresh(value, urlRewriting, authorities);
        break;
      case 'strict-transport-security':
        hsts = false;
        break;
      case 'set-cookie':
        if (urlRewriting) value = rewriteCookie(value, urlRewriting);
        break;
    }
    out.push(name, value);
  }
  if (lifecycle) mergeLifecycleFields(out, lifecycle);
  if (cacheVariation) addCacheVariation(out, cacheVariation);
  if (hsts) out.push('Strict-Transport-Security', transportSecurity);
  out.push('Via', `1.${head.minor} ${plan.pseudonym}`);
  return out;
}

/**
 * Adds the lifecycle fields of a version to the response of a backend or an application. Deprecation and Sunset replace
 * existing values, because two values would make both unreadable. If the version has no sunset, a valid Sunset in the
 * response that is not before the deprecation is kept. Links are appended.
 */
export function mergeLifecycleFields(fields: string[], lifecycle: LifecycleFields): void {
  let sunset: string | undefined;
  let crossOrigin = false;
  let keptLength = 0;
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] as string;
    const value = fields[at + 1] as string;
    const lower = lowerCased(name);
    if (lower === 'deprecation') continue;
    if (lower === 'sunset') {
      sunset ??= usableSunset(value, lifecycle);
      continue;
    }
    if (lower === 'access-control-allow-origin') crossOrigin = true;
    fields[keptLength] = name;
    fields[keptLength + 1] = value;
    keptLength += 2;
  }
  fields.length = keptLength;
  addLifecycleFields(fields, lifecycle, sunset);
  if (crossOrigin) exposeLifecycleFields(fields);
}

/** The fields must not have a Deprecation or Sunset yet. `backendSunset`: added if the version has no sunset. */
export function addLifecycleFields(out: string[], lifecycle: LifecycleFields, backendSunset?: string): void {
  if (lifecycle.deprecation !== undefined) out.push('Deprecation', lifecycle.deprecation);
  const sunset = lifecycle.sunset ?? backendSunset;
  if (sunset !== undefined) out.push('Sunset', sunset);
  for (const link of lifecycle.links) out.push('Link', link);
}

/** Adds to Vary and Cache-Control in one line each: some caches read only one line of a field. */
export function addCacheVariation(fields: string[], { vary, isPrivate }: CacheVariation): void {
  const listed = takeField(fields, 'vary');
  const listedNames = listOfTokens(listed);
  const missing = listedNames.includes('*') ? [] : vary.filter((name) => !listedNames.includes(name.toLowerCase()));
  const varyValue = [listed, ...missing].filter((value) => value !== '').join(', ');
  if (varyValue !== '') fields.push('Vary', varyValue);
  if (!isPrivate) return;
  // Shared caches follow these instead of Cache-Control.
  for (const name of ['cdn-cache-control', 'surrogate-control', 'x-accel-expires']) takeField(fields, name);
  // RFC 9111 §5.2.2.9 and §5.2.2.10: these permit shared caches to store the response.
  const directives = takeField(fields, 'cache-control')
    .split(',')
    .map((directive) => directive.trim())
    .filter((directive) => directive !== '' && !/^(?:public|s-maxage)(?:$|\s*=)/i.test(directive));
  const excludesSharedCaches = directives.some((directive) => /^(?:private|no-store)$/i.test(directive));
  fields.push('Cache-Control', (excludesSharedCaches ? directives : ['private', ...directives]).join(', '));
}

/** Removes all lines of a field. @returns their values as one list */
function takeField(fields: string[], lowerCaseName: string): string {
  const values: string[] = [];
  for (let at = 0; at < fields.length; ) {
    if (lowerCased(fields[at] as string) === lowerCaseName) values.push(fields.splice(at, 2)[1] as string);
    else at += 2;
  }
  return values.join(', ');
}

/** Scripts of other origins can read exposed fields only (Fetch §3.3.3). */
export const exposedNames = lifecycleNames.join(', ');

function exposeLifecycleFields(out: string[]): void {
  let lastAt = -1;
  let listed = '';
  for (let at = 0; at < out.length; at += 2) {
    if (lowerCased(out[at] as string) !== 'access-control-expose-headers') continue;
    lastAt = at;
    listed += `,${out[at + 1]}`;
  }
  const listedNames = listOfTokens(listed);
  const missing = lifecycleNames.filter((name) => !listedNames.includes(name.toLowerCase()));
  if (lastAt === -1) out.push('Access-Control-Expose-Headers', exposedNames);
  else if (missing.length > 0) out[lastAt + 1] = [out[lastAt + 1], ...missing].filter((name) => name !== '').join(', ');
}

/**
 * A backend's Sunset. Undefined if `routes.yaml` sets one, or if the value is no date or before the deprecation (RFC 9745 §4).
 */
function usableSunset(value: string, { sunset, deprecatedAt }: LifecycleFields): string | undefined {
  const sunsetAt = sunset === undefined ? parseHttpDate(value) : undefined;
  if (sunsetAt === undefined || (deprecatedAt !== undefined && sunsetAt < deprecatedAt)) return undefined;
  return httpDate(sunsetAt);
}

// Not removed even if `Connection` names them: without the first three, the body would have another meaning.
const undroppable = new Set(['content-length', 'content-type', 'content-encoding', 'set-cookie']);

function namedByConnection(lower: string, { connection }: ResponseHead): boolean {
  return connection.includes(lower) && !undroppable.has(lower);
}

/** A year, for this host only: its subdomains may belong to others (RFC 6797 §6.1). */
export const transportSecurity = 'max-age=31536000';

/**
 * RFC 9110 §6.5.1: fields for framing, routing, authentication and content, which are useless or harmful as trailers; and
 * the fields that the gateway sets in the head.
 */
const forbiddenTrailers = new Set(
  `access-control-allow-credentials access-control-allow-headers access-control-allow-methods
  access-control-allow-origin access-control-expose-headers access-control-max-age content-location deprecation link
  refresh sunset age authorization cache-control connection content-encoding content-length content-range content-type date expires
  host keep-alive location proxy-authenticate proxy-authorization proxy-connection retry-after set-cookie te trailer
  transfer-encoding upgrade vary via warning www-authenticate`.split(/\s+/),
);

/** The trailers to pass on, in the form of node:http. `trailers`: alternating names and values. */
export function forwardableTrailers(trailers: readonly string[]): [name: string, value: string][] {
  const rows: [string, string][] = [];
  for (let at = 0; at < trailers.length; at += 2) {
    const name = trailers[at] as string;
    if (!forbiddenTrailers.has(lowerCased(name))) rows.push([name, trailers[at + 1] as string]);
  }
  return rows;
}

/** A 1xx response as text, with the same reason as node:http. */
export function interimHead(status: number, fields: readonly string[]): string {
  let text = `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? 'unknown'}\r\n`;
  for (let at = 0; at < fields.length; at += 2) text += `${fields[at]}: ${fields[at + 1]}\r\n`;
  return `${text}\r\n`;
}
