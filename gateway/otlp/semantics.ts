import type { ExchangeRecord } from '../observability/exchangeRecord.ts';

// The semantic conventions for HTTP of OpenTelemetry, version 1.23 or later, as far as spans and metrics share them.

/** The status of a record whose client left before the response: none was sent. */
export const noResponse = 499;

// RFC 9110 and PATCH. Other methods may be anything that a client invents.
const methods: ReadonlySet<string> = new Set('GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH'.split(' '));

/** `http.request.method` */
export function methodAttribute(method: string): string {
  return methods.has(method) ? method : '_OTHER';
}

/** `error.type` of a server span: one of few values. Undefined for a response below 500 that is complete. */
export function errorTypeOf({
  status,
  problem,
  fault,
}: Pick<ExchangeRecord, 'status' | 'problem' | 'fault'>): string | undefined {
  if (status >= 500) return problem ?? String(status);
  if (fault === 'client' && problem === undefined) return 'client_disconnected';
  return fault === undefined || fault === 'client' ? undefined : 'incomplete_response';
}
