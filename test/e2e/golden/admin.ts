import { connectTo } from '../../support/rawClient.ts';
import type { RawResponse } from '../../support/response.ts';

/** Asks the admin listener. */
export class Admin {
  readonly #port: number;
  readonly #token: string;

  constructor(port: number, token: string) {
    this.#port = port;
    this.#token = token;
  }

  /** The body of an answer. */
  async text(line: string, body?: object): Promise<string> {
    const response = await this.#ask(line, body, `Authorization: Bearer ${this.#token}`);
    return Buffer.from(response.body, 'latin1').toString('utf8');
  }

  /** The same, with a line for each member of an object. */
  async jsonText(line: string, body?: object): Promise<string> {
    const text = JSON.stringify(JSON.parse(await this.text(line, body)), inOrder, 2);
    return `=== ${line}${body === undefined ? '' : ` ${JSON.stringify(body)}`}\n${text}\n`;
  }

  /** Several answers as one text. */
  async jsonTexts(lines: readonly string[]): Promise<string> {
    const texts: string[] = [];
    for (const line of lines) texts.push(await this.jsonText(line));
    return texts.join('\n');
  }

  /** The head of an answer. With `token`, the question has the right token. `body`: whether the body is added. */
  async head(line: string, { token = true, body = false } = {}): Promise<string> {
    const response = await this.#ask(line, undefined, ...(token ? [`Authorization: Bearer ${this.#token}`] : []));
    const { version, status, reason, lines } = response;
    const head = [`=== ${line}${token ? '' : ', without a token'}`, `HTTP/${version} ${status} ${reason}`, ...lines];
    return `${[...head, ...(body && response.body !== '' ? ['', response.body] : [])].join('\n')}\n`;
  }

  /** The value of a JSON answer. */
  async json(path: string): Promise<unknown> {
    const response = await this.#ask(`GET ${path}`, undefined, `Authorization: Bearer ${this.#token}`);
    return JSON.parse(Buffer.from(response.body, 'latin1').toString('utf8'));
  }

  async #ask(line: string, body: object | undefined, ...fields: string[]): Promise<RawResponse> {
    const client = await connectTo(this.#port);
    const text = body === undefined ? '' : JSON.stringify(body);
    const framing =
      body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`];
    const host = `Host: 127.0.0.1:${this.#port}`;
    client.send(Buffer.from(`${[`${line} HTTP/1.1`, host, ...fields, ...framing].join('\r\n')}\r\n\r\n${text}`));
    const response = await client.response(line.slice(0, line.indexOf(' ')));
    client.socket.destroy();
    return response;
  }
}

/** Sorts what is in the order in which threads, receivers and versions happened to be first. */
function inOrder(member: string, value: unknown): unknown {
  if (member === 'dropped') return Object.fromEntries(Object.entries(Object(value)).sort());
  if (member === 'recent') return sortedBy(value, ({ title, host, ...more }) => `${title} ${JSON.stringify(more)}`);
  if (member === 'traffic')
    return { ...Object(value), versions: sortedBy(Object(value).versions, ({ version }) => version) };
  return value;
}

type Entry = Readonly<Record<string, string>>;

function sortedBy(list: unknown, key: (one: Entry) => string | undefined): unknown {
  if (!Array.isArray(list)) return list;
  return list.toSorted((a, b) => numeric(String(key(a)), String(key(b))));
}

const numeric = new Intl.Collator('en', { numeric: true }).compare;
