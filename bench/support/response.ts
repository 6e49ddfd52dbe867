import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:http2';
import { get as getSecurely } from 'node:https';
import { text } from 'node:stream/consumers';
import { body, headers, path, successorLink } from './workload.ts';

/** Sends the request of the workload. Returns the wrong parts of the response, or undefined if it is correct. */
export async function checkResponse(
  port: number,
  { isSecure = false, isHttp2 = false }: { readonly isSecure?: boolean; readonly isHttp2?: boolean } = {},
): Promise<string | undefined> {
  const target = `/v1${path}`;
  const actual = await (isHttp2 ? overHttp2(port, target, isSecure) : overHttp1(port, target, isSecure));
  const expected = { status: 200, ...headers, link: successorLink(path), body };
  const wrong = Object.entries(expected).filter(([name, value]) => actual[name] !== value);
  return wrong.length > 0 ? wrong.map(([name]) => `${name}: ${actual[name]}`).join(', ') : undefined;
}

async function overHttp1(port: number, target: string, isSecure: boolean): Promise<Record<string, unknown>> {
  const response = await request(port, target, isSecure);
  return { ...response.headers, status: response.statusCode, body: await text(response) };
}

async function overHttp2(port: number, target: string, isSecure: boolean): Promise<Record<string, unknown>> {
  const session = connect(`${isSecure ? 'https' : 'http'}://127.0.0.1:${port}`, { rejectUnauthorized: false });
  // The stream emits the same error, which rejects the await below.
  session.on('error', () => {});
  try {
    const stream = session.request({ ':path': target });
    const [received]: Record<string, unknown>[] = await once(stream, 'response');
    return { ...received, status: received?.[':status'], body: await text(stream) };
  } finally {
    session.destroy();
  }
}

export async function statusOf(port: number, target: string): Promise<number | undefined> {
  const response = await request(port, target);
  response.resume();
  return response.statusCode;
}

async function request(port: number, target: string, isSecure = false): Promise<IncomingMessage> {
  const options = { host: '127.0.0.1', port, path: target, agent: false, rejectUnauthorized: false } as const;
  const sent = isSecure ? getSecurely(options) : get(options);
  const [response]: IncomingMessage[] = await once(sent, 'response');
  if (!response) throw new Error('no response');
  return response;
}
