import { type Attributes, createTraceState, type HrTime, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import type { Resource } from '@opentelemetry/resources';
import { namedApiOf } from '../../config/api.ts';
import { networkOf } from '../../shared/network.ts';
import type { AttemptRecord } from '../../usage/observability/exchangeRecord.ts';
import { redactPath, redactQuery } from '../../usage/observability/redact.ts';
import type { ExportSettings, SpanRow } from './batch.ts';
import { errorTypeOf, methodAttribute, noResponse } from './semantics.ts';

type ReadableSpan = Parameters<OTLPTraceExporter['export']>[0][number];
type Shown = ExportSettings['shownParts'];

/** Where spans come from: the gateway as a service, and its instrumentation. */
export interface Origin {
  readonly resource: Resource;
  readonly scope: ReadableSpan['instrumentationScope'];
}

/** The server span of an exchange, then the client span of each attempt. */
export function readableSpans(row: SpanRow, shown: Shown, origin: Origin): ReadableSpan[] {
  const clientSpans = row.span.attempts.map((_, index) => clientSpan(row, index, shown, origin));
  return [serverSpan(row, shown, origin), ...clientSpans];
}

function serverSpan(row: SpanRow, shown: Shown, origin: Origin): ReadableSpan {
  const { span, route, status, cause, duration } = row;
  const method = methodAttribute(row.method);
  const shownMethod = method === '_OTHER' ? 'HTTP' : method;
  const isError = status >= 500 || row.fault === 'target' || row.fault === 'gateway';
  return {
    ...commonFields(row, { spanId: span.id, parentId: span.parentId, isParentRemote: true }, origin),
    name: route === undefined ? shownMethod : `${shownMethod} ${route}`,
    kind: SpanKind.SERVER,
    ...timesOf(row.at, 0, duration),
    status: statusOf(isError, cause),
    attributes: withoutUndefined({
      ...methodAttributes(row),
      'url.scheme': row.scheme,
      'url.path': redactPath(row.path, shown.secretNames),
      'url.query': shown.query && row.query !== '' ? redactQuery(row.query, shown.secretNames) : undefined,
      'http.route': route,
      'http.response.status_code': status === noResponse ? undefined : status,
      'error.type': errorTypeOf(row),
      ...serverAttributes(`${row.scheme}://${span.host}`),
      'network.protocol.version': span.httpVersion,
      'client.address': shownAddress(row.address, shown.address),
      'user_agent.original': row.userAgent,
      ...gatewayAttributes(row),
      'version_gateway.client': row.client,
    }),
  };
}

function clientSpan(row: SpanRow, index: number, shown: Shown, origin: Origin): ReadableSpan {
  const attempt = row.span.attempts[index] as AttemptRecord;
  const { target, sentAfter, endedAfter = row.duration, status, cause } = attempt;
  const method = methodAttribute(row.method);
  const errorType = attemptErrorType(attempt);
  return {
    ...commonFields(row, { spanId: attempt.id, parentId: row.span.id, isParentRemote: false }, origin),
    name: method === '_OTHER' ? 'HTTP' : method,
    kind: SpanKind.CLIENT,
    ...timesOf(row.at, sentAfter, endedAfter),
    status: statusOf(errorType !== undefined, cause),
    attributes: withoutUndefined({
      ...methodAttributes(row),
      'url.full': `${target}${shownTargetPath(row.span.targetPath, shown)}`,
      ...serverAttributes(target),
      'http.request.resend_count': index === 0 ? undefined : index,
      'http.response.status_code': status,
      'network.protocol.version': status === undefined ? undefined : '1.1',
      'error.type': errorType,
      ...gatewayAttributes(row),
    }),
  };
}

/** Undefined for a complete response below 400. */
function attemptErrorType({ failure, status }: AttemptRecord): string | undefined {
  if (failure !== undefined) return failure;
  if (status === undefined) return 'cancelled';
  return status >= 400 ? String(status) : undefined;
}

type CommonFields = Omit<
  ReadableSpan,
  'name' | 'kind' | 'startTime' | 'endTime' | 'duration' | 'status' | 'attributes'
>;

/** `isParentRemote`: the parent is a span of another process. */
function commonFields(
  { traceId, span: { tracestate } }: SpanRow,
  {
    spanId,
    parentId,
    isParentRemote,
  }: { readonly spanId: string; readonly parentId: string | undefined; readonly isParentRemote: boolean },
  { resource, scope }: Origin,
): CommonFields {
  // Sampled.
  const traceFlags = 1;
  const traceState = tracestate === undefined ? {} : { traceState: createTraceState(tracestate) };
  const parent = parentId && { traceId, spanId: parentId, traceFlags, isRemote: isParentRemote };
  return {
    spanContext: () => ({ traceId, spanId, traceFlags, ...traceState }),
    ...(parent ? { parentSpanContext: parent } : {}),
    ...{ resource, instrumentationScope: scope, ended: true },
    ...{ links: [], events: [], droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
  };
}

/** `exchangeAt`: the start of the exchange, epoch ms. The other two are in ms after it. */
function timesOf(
  exchangeAt: number,
  beginAfter: number,
  endAfter: number,
): Pick<ReadableSpan, 'startTime' | 'endTime' | 'duration'> {
  return {
    startTime: hrTime(exchangeAt + beginAfter),
    endTime: hrTime(exchangeAt + endAfter),
    duration: hrTime(endAfter - beginAfter),
  };
}

/** Seconds and nanoseconds, with the resolution of a microsecond. */
export function hrTime(ms: number): HrTime {
  const us = Math.round(ms * 1000);
  return [Math.floor(us / 1e6), (us % 1e6) * 1000];
}

function statusOf(isError: boolean, cause: string | undefined): ReadableSpan['status'] {
  if (!isError) return { code: SpanStatusCode.UNSET };
  return { code: SpanStatusCode.ERROR, ...(cause === undefined ? {} : { message: cause }) };
}

function methodAttributes({ method }: SpanRow): Attributes {
  const shownMethod = methodAttribute(method);
  return {
    'http.request.method': shownMethod,
    'http.request.method_original': shownMethod === '_OTHER' ? method : undefined,
  };
}

function gatewayAttributes({ version, stage, span: { successor } }: SpanRow): Attributes {
  return {
    'version_gateway.version': version || undefined,
    'version_gateway.api': namedApiOf(version),
    'version_gateway.stage': stage,
    'version_gateway.successor': successor,
  };
}

/** `server.address` (IPv6 without brackets) and `server.port` of a URL; empty for an invalid URL. */
function serverAttributes(url: string): Attributes {
  const parsed = URL.parse(url);
  if (!parsed) return {};
  const port = parsed.port === '' ? { 'http:': 80, 'https:': 443 }[parsed.protocol] : Number(parsed.port);
  return { 'server.address': parsed.hostname.replace(/^\[(.*)\]$/, '$1'), 'server.port': port };
}

function shownTargetPath(path: string, { query, secretNames }: Shown): string {
  const at = path.indexOf('?');
  if (at === -1) return redactPath(path, secretNames);
  return `${redactPath(path.slice(0, at), secretNames)}${query ? `?${redactQuery(path.slice(at + 1), secretNames)}` : ''}`;
}

function shownAddress(address: string, setting: Shown['address']): string | undefined {
  if (setting === 'full') return address;
  return setting === 'none' ? undefined : networkOf(address) || undefined;
}

function withoutUndefined(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}
