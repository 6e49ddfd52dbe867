import { askHttp2, connectHttp2 } from '../../support/http2Client.ts';
import { connectTo, type RawClient } from '../../support/rawClient.ts';
import type { RawResponse } from '../../support/response.ts';

/** A request: the request line without the version of HTTP, header lines, and the body. */
export interface CorpusRequest {
  readonly title: string;
  readonly line: string;
  readonly fields: readonly string[];
  readonly body: string;
  /** Whether the request has no field that the corpus adds. */
  readonly isBare: boolean;
}

export function ask(title: string, line: string, ...fields: string[]): CorpusRequest {
  return { title, line, fields, body: '', isBare: false };
}

export function send(title: string, line: string, body: string, ...fields: string[]): CorpusRequest {
  return { title, line, fields: [...fields, `Content-Length: ${Buffer.byteLength(body)}`], body, isBare: false };
}

/** Sent without a request id, a client and a trace. */
export function bare(title: string, line: string, ...fields: string[]): CorpusRequest {
  return { title, line, fields, body: '', isBare: true };
}

/** Sends requests and writes what was sent and received. Request ids are numbered, so that logs can be put in order. */
export class Corpus {
  readonly #port: number;
  #count = 0;

  constructor(port: number) {
    this.#port = port;
  }

  /** How many requests with an id were sent. */
  get count(): number {
    return this.#count;
  }

  /** Sends each request on a connection of its own. */
  async exchange(requests: readonly CorpusRequest[]): Promise<string> {
    const texts: string[] = [];
    for (const request of requests) {
      const client = await connectTo(this.#port);
      texts.push(await this.#exchangeOn(client, request));
      client.socket.destroy();
    }
    return texts.join('\n');
  }

  /** Sends all requests on one connection, the next one after the response to the last one. */
  async keepAlive(requests: readonly CorpusRequest[]): Promise<string> {
    const client = await connectTo(this.#port);
    const texts: string[] = [];
    for (const request of requests) texts.push(await this.#exchangeOn(client, request));
    client.socket.destroy();
    return texts.join('\n');
  }

  /** Sends all requests at once on one connection. */
  async pipeline(requests: readonly CorpusRequest[]): Promise<string> {
    const client = await connectTo(this.#port);
    const sent = requests.map((request) => this.#bytesOf(request));
    client.send(sent.join(''));
    const texts: string[] = [];
    for (const [index, request] of requests.entries()) {
      texts.push(exchangeText(request, sent[index] ?? '', await client.response(methodOf(request))));
    }
    client.socket.destroy();
    return texts.join('\n');
  }

  /** Sends a request that the gateway has forwarded before. */
  async loop(title: string, line: string): Promise<string> {
    const first = await this.exchange([ask(`${title}, before it`, line)]);
    const [, via = ''] = /^< Via: (.*)$/m.exec(first) ?? [];
    return `${first}\n${await this.exchange([ask(title, line, `Via: ${via}`)])}`;
  }

  /** Sends bytes as they are, and waits until the gateway has closed the connection. */
  async raw(title: string, bytes: string): Promise<string> {
    const client = await connectTo(this.#port);
    client.send(bytes);
    const response = await client.response();
    const { by } = await client.closed();
    return `${exchangeText({ title }, bytes, response)}(closed: ${by})\n`;
  }

  /** Asks with HTTP/2 and prior knowledge. */
  async http2(title: string, path: string, fields: Readonly<Record<string, string>> = {}): Promise<string> {
    const session = await connectHttp2(`http://127.0.0.1:${this.#port}`);
    const sent = { 'x-request-id': this.#nextId(), 'x-client-id': 'bar', traceparent: trace, ...fields };
    const { headers, body } = await askHttp2(session, path, sent);
    session.destroy();
    const lines = Object.entries(headers).map(([name, value]) => `< ${name}: ${String(value)}`);
    return [`=== ${title}`, `> HTTP/2 ${path}`, ...lines, '<', body, ''].join('\n');
  }

  async #exchangeOn(client: RawClient, request: CorpusRequest): Promise<string> {
    const bytes = this.#bytesOf(request);
    client.send(bytes);
    return exchangeText(request, bytes, await client.response(methodOf(request)));
  }

  #bytesOf({ line, fields, body, isBare }: CorpusRequest): string {
    const has = (name: string): boolean => fields.some((field) => field.toLowerCase().startsWith(`${name}:`));
    const added = isBare
      ? []
      : [
          `X-Request-Id: ${this.#nextId()}`,
          ...(has('traceparent') ? [] : [`traceparent: ${trace}`]),
          ...(has('x-client-id') || has('x-api-key') || has('authorization') ? [] : ['X-Client-Id: bar']),
        ];
    const host = has('host') ? [] : ['Host: api.example.test'];
    return `${[`${line} HTTP/1.1`, ...host, ...added, ...fields].join('\r\n')}\r\n\r\n${body}`;
  }

  #nextId(): string {
    this.#count += 1;
    return `golden.${String(this.#count).padStart(3, '0')}`;
  }
}

// Not sampled, so that only requests with the sampled flag are exported.
const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';

function methodOf({ line }: CorpusRequest): string {
  return line.slice(0, line.indexOf(' '));
}

function exchangeText({ title }: Pick<CorpusRequest, 'title'>, sent: string, response: RawResponse): string {
  const shown = sent
    .replaceAll('\r\n', '\n')
    .trimEnd()
    .split('\n')
    .map((line) => `> ${line}`.trimEnd());
  return [`=== ${title}`, ...shown, ...[...response.interim, response].flatMap(responseLines), ''].join('\n');
}

function responseLines({ version, status, reason, lines, body, trailers }: RawResponse): string[] {
  const text = Buffer.from(body, 'latin1').toString('utf8').replaceAll('\r\n', '\n');
  return [
    `< HTTP/${version} ${status} ${reason}`.trimEnd(),
    ...lines.map((line) => `< ${line}`),
    ...(text === '' ? [] : ['<', text.trimEnd()]),
    ...trailers.map(([name, value]) => `<trailer ${name}: ${value}`),
  ];
}
