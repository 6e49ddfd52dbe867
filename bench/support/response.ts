import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { body, headers, path, successorLink } from './work.ts';

/** Why a proxy cannot be measured: what its answer lacks. Undefined: it does the whole work. */
export async function wrongAnswer(port: number): Promise<string | undefined> {
  const answer = await request(port, `/v1${path}`);
  const received = await text(answer);
  const expected = { status: 200, ...headers, link: successorLink(path), body };
  const actual: Record<string, unknown> = { ...answer.headers, status: answer.statusCode, body: received };
  const wrong = Object.entries(expected).filter(([name, value]) => actual[name] !== value);
  return wrong.length > 0 ? wrong.map(([name]) => `${name}: ${actual[name]}`).join(', ') : undefined;
}

export async function status(port: number, target: string): Promise<number | undefined> {
  const answer = await request(port, target);
  answer.resume();
  return answer.statusCode;
}

async function request(port: number, target: string): Promise<IncomingMessage> {
  const sent = get({ host: '127.0.0.1', port, path: target, agent: false });
  const [answer]: IncomingMessage[] = await once(sent, 'response');
  if (!answer) throw new Error('no answer');
  return answer;
}
