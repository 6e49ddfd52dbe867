import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
// Generated from the protocol's own definitions. The exporter has a writer of its own, so the two cannot share an error.
import root from 'otlp-definitions/build/src/generated/root.js';
import { onTestFinished } from 'vitest';

/** A message type that protobufjs has generated. */
interface MessageType<Content> {
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): Content;
}

interface KeyValue {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Group {
  readonly resource: { readonly attributes: readonly KeyValue[] };
}

interface TraceRequest {
  readonly resourceSpans: readonly (Group & {
    readonly scopeSpans: readonly { readonly spans: readonly EncodedSpan[] }[];
  })[];
}

/** Bytes are in base64, 64-bit numbers are text. */
interface EncodedSpan extends Pick<SeenSpan, 'name' | 'kind' | 'traceState' | 'flags' | 'status'> {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly KeyValue[];
}

interface MetricsRequest {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly EncodedMetric[] }[];
  }[];
}

interface EncodedMetric {
  readonly name: string;
  readonly unit: string;
  readonly histogram: {
    readonly aggregationTemporality: string;
    readonly dataPoints: readonly {
      readonly attributes: readonly KeyValue[];
      readonly count: string;
      readonly sum: number;
      readonly bucketCounts: readonly string[];
      readonly explicitBounds: readonly number[];
      readonly startTimeUnixNano: string;
    }[];
  };
}

const { trace, metrics } = Object(root).opentelemetry.proto.collector;
const traceRequest: MessageType<TraceRequest> = trace.v1.ExportTraceServiceRequest;
const metricsRequest: MessageType<MetricsRequest> = metrics.v1.ExportMetricsServiceRequest;

export type Attributes = Readonly<Record<string, unknown>>;

export interface SeenSpan {
  readonly name: string;
  readonly kind: 'SPAN_KIND_SERVER' | 'SPAN_KIND_CLIENT';
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly flags: number;
  /** Nanoseconds since the epoch. */
  readonly start: bigint;
  readonly end: bigint;
  readonly status: { readonly code: string; readonly message: string };
  readonly attributes: Attributes;
  readonly resource: Attributes;
}

export interface SeenPoint {
  readonly name: string;
  readonly unit: string;
  readonly temporality: string;
  readonly attributes: Attributes;
  readonly count: number;
  readonly sum: number;
  readonly bucketCounts: readonly number[];
  readonly bounds: readonly number[];
  readonly start: bigint;
}

export interface SeenExport {
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly at: number;
}

export interface Collector {
  readonly url: string;
  readonly port: number;
  readonly exports: readonly SeenExport[];
  /** Of exports that were accepted. */
  readonly spans: readonly SeenSpan[];
  readonly points: readonly SeenPoint[];
  close(): Promise<void>;
}

/** Answers an export itself and returns true; false: the collector accepts it. */
export type Refusal = (res: ServerResponse, path: string) => boolean;

/** A receiver of OTLP over HTTP with protobuf, on its own port; closed at the end of the test. */
export async function startCollector(refuse: Refusal = () => false, port = 0): Promise<Collector> {
  const exports: SeenExport[] = [];
  const spans: SeenSpan[] = [];
  const points: SeenPoint[] = [];
  const server = createServer(async (req, res) => {
    const body = await buffer(req);
    const path = req.url ?? '';
    exports.push({ path, headers: req.headers, at: performance.now() });
    if (refuse(res, path)) return;
    if (path.endsWith('/v1/traces')) spans.push(...spansIn(body));
    else points.push(...pointsIn(body));
    res.writeHead(200, { 'Content-Type': 'application/x-protobuf' }).end();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  onTestFinished(close);
  const bound = (server.address() as AddressInfo).port;
  return { url: `http://127.0.0.1:${bound}`, port: bound, exports, spans, points, close };
}

const plain = { longs: String, enums: String, bytes: String, defaults: true };

function spansIn(body: Buffer): SeenSpan[] {
  const { resourceSpans } = traceRequest.toObject(traceRequest.decode(body), plain);
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ startTimeUnixNano, endTimeUnixNano, ...span }) => ({
        ...span,
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId),
        start: BigInt(startTimeUnixNano),
        end: BigInt(endTimeUnixNano),
        attributes: attributesOf(span.attributes),
        resource: attributesOf(resource.attributes),
      })),
    ),
  );
}

function pointsIn(body: Buffer): SeenPoint[] {
  const { resourceMetrics } = metricsRequest.toObject(metricsRequest.decode(body), plain);
  const found = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  return found.flatMap(({ name, unit, histogram: { aggregationTemporality, dataPoints } }) =>
    dataPoints.map((point) => ({
      name,
      unit,
      temporality: aggregationTemporality,
      attributes: attributesOf(point.attributes),
      count: Number(point.count),
      sum: point.sum,
      bucketCounts: point.bucketCounts.map(Number),
      bounds: point.explicitBounds,
      start: BigInt(point.startTimeUnixNano),
    })),
  );
}

function attributesOf(list: readonly KeyValue[]): Attributes {
  return Object.fromEntries(
    list.map(({ key, value }) => {
      const [kind, content] = Object.entries(value)[0] ?? ['', undefined];
      return [key, kind === 'intValue' ? Number(content) : content];
    }),
  );
}

function hex(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex');
}
