import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { get as getSecurely } from 'node:https';
import { text } from 'node:stream/consumers';
import { body, headers, path, successorLink } from './workload.ts';

/** Sends the request of the workload. Returns the wrong parts of the response, or undefined if it is correct. */
export async function checkResponse(port: number, isSecure = false): Promise<string | undefined> {
  const response = await request(port, `/v1${path}`, isSecure);
  const received = await text(response);
  const expected = { status: 200, ...headers, link: successorLink(path), body };
  const actual: Record<string, unknown> = { ...response.headers, status: response.statusCode, body: received };
  const wrong = Object.entries(expected).filter(([name, value]) => actual[name] !== value);
  return wrong.length > 0 ? wrong.map(([name]) => `${name}: ${actual[name]}`).join(', ') : undefined;
}

export async function status(port: number, target: string): Promise<number | undefined> {
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
