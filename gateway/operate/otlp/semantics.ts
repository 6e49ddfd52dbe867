import type { ExchangeRecord } from '../../usage/observability/exchangeRecord.ts';

// The part of OpenTelemetry's semantic conventions for HTTP (version 1.23 or later) that spans and metrics have in common.

/** The status in the record of an exchange whose client disconnected before the response. No status was sent. */
export const noResponse = 499;

// The methods of RFC 9110, and PATCH (RFC 5789). Clients can invent any other method.
const methods: ReadonlySet<string> = new Set('GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH'.split(' '));

/** `http.request.method` */
export function methodAttribute(method: string): string {
  return methods.has(method) ? method : '_OTHER';
}

/** `error.type` of a server span, one of few values. Undefined for a complete response below 500. */
export function errorTypeOf({
  status,
  problem,
  fault,
}: Pick<ExchangeRecord, 'status' | 'problem' | 'fault'>): string | undefined {
  if (status >= 500) return problem ?? String(status);
  if (fault === 'client' && problem === undefined) return 'client_disconnected';
  return fault === undefined || fault === 'client' ? undefined : 'incomplete_response';
}
