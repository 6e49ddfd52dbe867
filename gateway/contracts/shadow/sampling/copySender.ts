import type { RequestOptions } from 'node:http';
import type { Version } from '../../../config/snapshot.ts';
import { http } from '../../../shared/builtinHttp.ts';
import { decodedBody } from '../../../shared/contentCoding.ts';
import { readRegularFile, reasonOf } from '../../../shared/fileSystem.ts';
import type { ComparedResponse } from '../compare/sample.ts';
import type { CopyAddress } from './shadowBatch.ts';

// After this time an idle connection is closed, before the backend closes it.
const idleConnectionMs = 2_000;
const https = process.getBuiltinModule('node:https');

/**
 * The result of a copy. `failed`: there was no complete response, or its status means that the backend is overloaded or down.
 * `body`: the response is too large. `coding`: its content coding is unknown or wrong. `aborted`: the sender was closed.
 */
export type CopyResult = ComparedResponse | 'failed' | 'timeout' | 'body' | 'coding' | 'aborted';

/** Statuses that describe the state of the backend, and not the request. */
const overloadedStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);

interface CopyLimits {
  /** For the whole response, ms. */
  readonly timeout: number;
  /** Bytes, before and after decoding. */
  readonly body: number;
}

/**
 * Sends copies to one version, on its own connections. It never uses the connections of client requests. It does not use undici, which
 * would change or refuse some copies and answers (decision 20).
 */
export class CopySender {
  readonly #agents: {
    readonly http: InstanceType<typeof http.Agent>;
    readonly https: InstanceType<typeof https.Agent>;
  };
  readonly #limits: CopyLimits;
  readonly #stop = new AbortController();
  /** Why the last copy failed: the code of an error, `status 503`, `incomplete response`, or why `ca` cannot be read. */
  lastFailure: string | undefined;
  #caFailure: string | undefined;

  constructor({ tls }: Pick<Version, 'tls'>, limits: CopyLimits) {
    const { servername, verify, ca } = tls;
    this.#limits = limits;
    this.#agents = {
      http: new http.Agent({ keepAlive: true, timeout: idleConnectionMs }),
      https: new https.Agent({
        keepAlive: true,
        timeout: idleConnectionMs,
        rejectUnauthorized: verify,
        ...(servername !== undefined && { servername }),
        ...(ca !== undefined && { ca: this.#contentOf(ca) }),
      }),
    };
  }

  /** `fields`: alternating names and values. Never rejects. */
  async send(method: string, address: CopyAddress, fields: readonly string[]): Promise<CopyResult> {
    // node:http throws if it does not accept a field or the path.
    const received = await this.#receive(method, address, fields).catch((error: NodeJS.ErrnoException) => {
      this.lastFailure = error.code ?? error.message;
      return 'failed' as const;
    });
    if (typeof received === 'string') return received;
    if (overloadedStatuses.has(received.status)) {
      this.lastFailure = `status ${received.status}`;
      return 'failed';
    }
    const body =
      method === 'HEAD' ? received.body : await decodedBody(received.body, received.coding, this.#limits.body);
    return typeof body === 'string' ? body : { status: received.status, contentType: received.contentType, body };
  }

  /** Ends all copies that have no response yet. */
  close(): void {
    this.#stop.abort();
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }

  async #receive(method: string, address: CopyAddress, fields: readonly string[]) {
    const { protocol, hostname, port } = new URL(address.target);
    const isSecure = protocol === 'https:';
    const prefix = address.prefix === '' ? [] : ['X-Forwarded-Prefix', address.prefix];
    const options: RequestOptions = {
      agent: isSecure ? this.#agents.https : this.#agents.http,
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (isSecure ? 443 : 80) : Number(port),
      method,
      path: address.path,
      headers: ['Host', address.host, ...fields, ...prefix],
    };
    const { promise, resolve } = Promise.withResolvers<
      Exclude<CopyResult, ComparedResponse> | (ComparedResponse & { readonly coding: string })
    >();
    if (this.#stop.signal.aborted) return 'aborted' as const;
    const request = (isSecure ? https : http).request(options);
    let hasEnded = false;
    const end = (result: Awaited<typeof promise>, reason = 'incomplete response'): void => {
      if (hasEnded) return;
      hasEnded = true;
      if (result === 'failed') this.lastFailure = reason;
      clearTimeout(timer);
      this.#stop.signal.removeEventListener('abort', onStop);
      resolve(result);
      if (typeof result === 'string') request.destroy();
    };
    const onStop = (): void => end('aborted');
    const timer = setTimeout(end, this.#limits.timeout, 'timeout' as const);
    this.#stop.signal.addEventListener('abort', onStop, { once: true });
    request.on('error', (error: NodeJS.ErrnoException) =>
      end('failed', (isSecure ? this.#caFailure : undefined) ?? error.code),
    );
    request.on('close', () => end('failed'));
    request.on('response', (response) => {
      const parts: Buffer[] = [];
      let length = 0;
      response.on('data', (part: Buffer) => {
        length += part.length;
        if (length > this.#limits.body) end('body');
        else parts.push(part);
      });
      response.on('error', () => end('failed'));
      response.on('close', () => end('failed'));
      response.on('end', () => {
        const { statusCode: status = 0, headers } = response;
        const contentType = headers['content-type'];
        if (!response.complete) end('failed');
        else end({ status, contentType, coding: headers['content-encoding'] ?? '', body: Buffer.concat(parts) });
      });
    });
    request.end();
    return promise;
  }

  /** If the file cannot be read, the result is empty: no certificate is valid then, and every copy fails. */
  #contentOf(ca: string): Buffer {
    try {
      return readRegularFile(ca);
    } catch (error) {
      this.#caFailure = `${ca} cannot be read: ${reasonOf(error)}`;
      return Buffer.alloc(0);
    }
  }
}
