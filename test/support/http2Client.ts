import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { onTestFinished } from 'vitest';

export interface Http2Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** latin1 */
  readonly body: string;
  readonly trailers: IncomingHttpHeaders;
  /** The interim responses before the final one. */
  readonly interim: readonly IncomingHttpHeaders[];
  /** 0: the stream ended without an error. */
  readonly code: number;
}

/** A client of node:http2; closed at the end of the test. `origin`: `http://…` for HTTP/2 with prior knowledge, `https://…` for TLS. */
export async function connectHttp2(origin: string): Promise<ClientHttp2Session> {
  const session = connect(origin, { rejectUnauthorized: false });
  session.on('error', () => {});
  onTestFinished(() => {
    session.destroy();
  });
  await once(session, 'connect');
  return session;
}

/** Sends a request for `path`, and reads its response to the end of the stream. */
export function askHttp2(
  session: ClientHttp2Session,
  path: string,
  fields: OutgoingHttpHeaders = {},
  body?: string | Buffer,
): Promise<Http2Answer> {
  const stream = session.request(
    { ':path': path, ':authority': 'api.test', ...fields },
    { endStream: body === undefined },
  );
  if (body !== undefined) stream.end(body);
  return answerOn(stream);
}

/** Reads the response on a stream until the stream is closed. */
export async function answerOn(stream: ClientHttp2Stream): Promise<Http2Answer> {
  const interim: IncomingHttpHeaders[] = [];
  const chunks: Buffer[] = [];
  let headers: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders = {};
  stream
    .on('headers', (one) => interim.push(one))
    .on('response', (one) => (headers = one))
    .on('trailers', (one) => (trailers = one))
    .on('data', (chunk: Buffer) => chunks.push(chunk))
    .on('error', () => {});
  if (!stream.destroyed) await new Promise((resolve) => stream.on('close', resolve));
  const body = Buffer.concat(chunks).toString('latin1');
  return { status: Number(headers[':status'] ?? 0), headers, body, trailers, interim, code: stream.rstCode };
}
