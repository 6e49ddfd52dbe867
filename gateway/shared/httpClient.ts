import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Dispatcher } from 'undici';

/** Which addresses a client connects to. `public`: no loopback, link-local, private or reserved address. */
export type Networks = 'any' | 'public';

export interface HttpClientSettings {
  /** The longest time until a connection is open, ms. */
  readonly connectMs: number;
  /** The longest time from the request to the head of its answer, ms. */
  readonly headMs: number;
  /** The longest pause within the body of an answer, ms. */
  readonly bodyMs: number;
  /** Whether HTTP_PROXY, HTTPS_PROXY and NO_PROXY apply. */
  readonly usesProxy: boolean;
  readonly networks: Networks;
  /** Resolves host names; by default the system does. */
  readonly lookup?: LookupFunction;
}

/** What the gateway requests apart from the requests that it forwards. Only what leaves the own network uses a proxy. */
export const httpUses = {
  webhooks: { connectMs: 5_000, headMs: 10_000, bodyMs: 10_000, usesProxy: true },
  contracts: { connectMs: 5_000, headMs: 10_000, bodyMs: 10_000, usesProxy: true },
  // The commands wait as long as `--timeout` says. A token must not be sent through a proxy.
  admin: { connectMs: 5_000, usesProxy: false, networks: 'any' },
} as const;

export interface HttpRequest {
  /** By default GET. */
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The longest time until the answer is complete, ms. */
  readonly deadlineMs: number;
  readonly signal?: AbortSignal;
}

/** There is no complete answer. The message says why, without any part of the path or query: `no answer within 10 s`, `ECONNREFUSED`. */
export class HttpFailure extends Error {
  override readonly name = 'HttpFailure';
  /** `timeout`: the server is too slow. `refused`: the address is not in a permitted network, so nothing was sent. */
  readonly kind: 'timeout' | 'refused' | 'failed';

  constructor(message: string, kind: HttpFailure['kind'] = 'failed') {
    super(message);
    this.kind = kind;
  }
}

/** An answer whose body has not been read yet. Read or discard it. */
export class HttpAnswer {
  readonly status: number;
  readonly #headers: Dispatcher.ResponseData['headers'];
  readonly #body: Dispatcher.ResponseData['body'];
  readonly #failureOf: (error: unknown) => HttpFailure;

  constructor({ statusCode, headers, body }: Dispatcher.ResponseData, failureOf: (error: unknown) => HttpFailure) {
    this.status = statusCode;
    this.#headers = headers;
    this.#body = body;
    this.#failureOf = failureOf;
  }

  get isOk(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /** `name`: in lower case. */
  header(name: string): string | undefined {
    const value = this.#headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  /** The body as it arrives. If the reader stops, the connection is closed. @throws HttpFailure */
  async *parts(): AsyncGenerator<Uint8Array, void> {
    try {
      for await (const part of this.#body) yield part as Uint8Array;
    } catch (error) {
      throw this.#failureOf(error);
    }
  }

  /** @throws HttpFailure */
  async text(): Promise<string> {
    try {
      return await this.#body.text();
    } catch (error) {
      throw this.#failureOf(error);
    }
  }

  /** Reads a short body, so that the connection can be used again. Closes the connection if the body is long or does not end. */
  async discard(): Promise<void> {
    await this.#body.dump({ limit: 64 * 1024 }).catch(() => {});
  }
}

/**
 * Sends requests that are not forwarded: webhooks, contracts from the web, and those of the commands. Follows no redirects: the caller
 * requests the new URL, which is checked again. `close` ends everything. The package undici is loaded with the first request.
 */
export class HttpClient {
  readonly #settings: HttpClientSettings;
  #dispatcher: Promise<Dispatcher> | undefined;
  #isClosed = false;

  constructor(settings: HttpClientSettings) {
    this.#settings = settings;
  }

  /** @throws HttpFailure, also later from the answer */
  async request(url: string, { deadlineMs, signal, ...request }: HttpRequest): Promise<HttpAnswer> {
    const { headMs, bodyMs } = this.#settings;
    const deadline = AbortSignal.timeout(deadlineMs);
    const failureOf = (error: unknown): HttpFailure => {
      if (deadline.aborted) return new HttpFailure(`no answer within ${inSeconds(deadlineMs)}`, 'timeout');
      return error instanceof HttpFailure ? error : failureFor(error, this.#settings, this.#proxyVariable(url));
    };
    try {
      const { origin, pathname, search } = this.#permitted(url);
      const dispatcher = await this.#open();
      const response = await dispatcher.request({
        origin,
        path: pathname + search,
        method: 'GET',
        ...request,
        headersTimeout: headMs,
        bodyTimeout: bodyMs,
        signal: signal ? AbortSignal.any([deadline, signal]) : deadline,
      });
      return new HttpAnswer(response, failureOf);
    } catch (error) {
      throw failureOf(error);
    }
  }

  /** Ends requests without an answer, and closes all connections. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#dispatcher?.then(
      (dispatcher) => dispatcher.destroy(),
      () => {},
    );
  }

  /** No look-up is made for an address, so it is checked here. @throws HttpFailure */
  #permitted(text: string): URL {
    const url = new URL(text);
    if (url.username !== '' || url.password !== '') throw new HttpFailure('the URL has a user or a password');
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (this.#settings.networks === 'public' && isIP(host) > 0 && !isPublicAddress(host)) throw refusal(host);
    return url;
  }

  async #open(): Promise<Dispatcher> {
    if (this.#isClosed) throw new HttpFailure('stopped');
    this.#dispatcher ??= openDispatcher(this.#settings);
    return this.#dispatcher;
  }

  /** The variable that may have led a request to a proxy. */
  #proxyVariable(url: string): string | undefined {
    if (!this.#settings.usesProxy) return undefined;
    const names = proxyVariables.filter((name) => url.startsWith('https:') || /^http_/i.test(name));
    return names.find((name) => process.env[name]);
  }
}

// In the order in which undici looks for them. Requests with https: use the first of all, others only those of http.
const proxyVariables = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'];

async function openDispatcher(settings: HttpClientSettings): Promise<Dispatcher> {
  const { connectMs, headMs, usesProxy, networks, lookup = systemLookup } = settings;
  // An import statement would load undici at every start of the gateway.
  const { Agent, EnvHttpProxyAgent, Pool } = await import('undici');
  const options = {
    connect: { lookup: networks === 'public' ? publicLookup(lookup) : lookup },
    connectTimeout: connectMs,
    // One request at a time needs no HTTP/2.
    allowH2: false,
  };
  if (!usesProxy) return new Agent(options);
  for (const name of proxyVariables) {
    const value = process.env[name];
    if (value && !/^https?:$/.test(URL.parse(value)?.protocol ?? ''))
      throw new HttpFailure(`the variable ${name} is not a URL such as http://proxy.example:3128`);
  }
  return new EnvHttpProxyAgent({
    ...options,
    // Connects to the proxy. By default it would wait 5 minutes for the answer to CONNECT.
    clientFactory: (origin, { connect }: { readonly connect?: object }) =>
      new Pool(origin, { ...(connect && { connect }), headersTimeout: headMs }),
  });
}

/**
 * Removes all addresses that are not public. undici connects to the result, so a name that resolves to another address a moment later
 * cannot deceive it.
 */
function publicLookup(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, []);
      const addresses: readonly LookupAddress[] = Array.isArray(found) ? found : [];
      const permitted = addresses.filter(({ address }) => isPublicAddress(address));
      const [first] = permitted;
      if (first === undefined) return callback(refusal(addresses[0]?.address ?? 'none'), []);
      return options.all ? callback(null, permitted) : callback(null, first.address, first.family);
    });
}

function refusal(address: string): HttpFailure {
  return new HttpFailure(`the address ${address} is not public`, 'refused');
}

/** Whether an address can be reached from everywhere: not loopback, link-local, private, shared, multicast or reserved. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.range() === 'unicast';
  // NAT64 leads to the IPv4 address in the last four bytes (RFC 6052).
  if (parsed.match(ipaddr.parseCIDR('64:ff9b::/96'))) return isPublicAddress(parsed.toByteArray().slice(-4).join('.'));
  return parsed.range() === 'unicast' && parsed.match(ipaddr.parseCIDR('2000::/3'));
}

function failureFor(error: unknown, limits: HttpClientSettings, proxyVariable: string | undefined): HttpFailure {
  const { name, message, code }: NodeJS.ErrnoException = error instanceof Error ? error : new Error();
  if (name === 'HTTPParserError') return new HttpFailure('the answer is not valid HTTP');
  const proxyStatus = /^Proxy .*\((\d{3})\)/.exec(message)?.[1];
  if (proxyStatus !== undefined) return new HttpFailure(`the proxy answers ${proxyStatus}`);
  if (code === 'UND_ERR_HEADERS_TIMEOUT')
    return new HttpFailure(`no answer within ${inSeconds(limits.headMs)}`, 'timeout');
  if (code === 'UND_ERR_BODY_TIMEOUT')
    return new HttpFailure(`the answer pauses for more than ${inSeconds(limits.bodyMs)}`, 'timeout');
  const known = reasons[code ?? ''];
  if (known !== undefined) return new HttpFailure(known);
  const reason =
    code === 'UND_ERR_CONNECT_TIMEOUT' ? `no connection within ${inSeconds(limits.connectMs)}` : codeOrNone(code);
  // The error may be that of the proxy.
  return new HttpFailure(proxyVariable === undefined ? reason : `${reason} (${proxyVariable} is set)`);
}

const reasons: Readonly<Record<string, string>> = {
  UND_ERR_SOCKET: 'the connection was closed before the answer was complete',
  UND_ERR_HEADERS_OVERFLOW: 'the head of the answer is too large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the length of the answer is not its Content-Length',
  UND_ERR_PRX_TLS: 'the certificate of the proxy is of another host',
  UND_ERR_PRX_CONN: 'the proxy has closed the connection',
  UND_ERR_DESTROYED: 'stopped',
  UND_ERR_CLOSED: 'stopped',
};

/** The codes of Node are known to operators, and search engines find them. The message of an error may quote the URL. */
function codeOrNone(code: string | undefined): string {
  return code !== undefined && /^(?!UND_)[A-Z][A-Z0-9_]{2,60}$/.test(code) ? code : 'the request failed';
}

function inSeconds(ms: number): string {
  return `${ms / 1000} s`;
}
