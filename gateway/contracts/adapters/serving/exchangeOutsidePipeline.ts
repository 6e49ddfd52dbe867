import { messageOf } from '../../../shared/text.ts';
import { type BodyFault, bufferOf, changeBody, decodeBody, isAdaptableJson, isBody } from './adaptedBody.ts';
import type { CompiledAdapter, CompiledRoute } from './compiledAdapter.ts';

// Adapts requests and responses outside the pipeline, for comparisons of both versions. Nothing is checked against a contract.

/** The request for the other version. */
export interface AdaptedRequest {
  readonly route: CompiledRoute;
  readonly method: string;
  /** Path and query below the version: `/cocktails/7?limit=5`. */
  readonly requestTarget: string;
}

/**
 * `path`: below the version. `query`: with its question mark; '' for none. If the request cannot be adapted, returns
 * the reason as a text.
 */
export function adaptRequest(
  adapter: CompiledAdapter,
  method: string,
  path: string,
  query: string,
): AdaptedRequest | string {
  const route = adapter.find(method, path);
  if (route === undefined) return 'the adapter does not list the route';
  if ('gone' in route) return route.gone;
  try {
    const requestTarget = route.requestTargetOf(path, query);
    return { route, method: method === 'HEAD' ? 'HEAD' : route.settings.to.method, requestTarget };
  } catch (error) {
    return messageOf(error);
  }
}

/** A response of the other version, as received. */
export interface AdaptableResponse {
  readonly status: number;
  readonly contentType: string | undefined;
  /** The field `Content-Encoding`. */
  readonly contentCoding?: string | undefined;
  readonly body: Buffer;
}

/** The decoded body for the adapted version. Unchanged if the adapter has no operations for the status, or there is no body. */
export function adaptResponse(
  { settings }: CompiledAdapter,
  route: CompiledRoute,
  { status, contentType, contentCoding = '', body }: AdaptableResponse,
): Buffer | BodyFault {
  const largestBody = settings.body;
  const decoded = decodeBody(body, contentCoding, largestBody);
  // The entry of `response` for the status.
  const row = route.rowFor(status);
  const isBodiless = body.length === 0 || status === 204 || status === 205 || status === 304;
  if (!Buffer.isBuffer(decoded) || row === undefined || row.isEmpty || isBodiless) return decoded;
  if (!isAdaptableJson(contentType)) return { pointer: '', cause: 'the body is not JSON in UTF-8' };
  const changed = changeBody(decoded, { ...row, findViolation: undefined });
  return isBody(changed) ? bufferOf(changed) : changed;
}
