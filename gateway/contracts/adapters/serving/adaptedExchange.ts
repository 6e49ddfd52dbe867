import { createHash } from 'node:crypto';
import type { AdapterSettings } from '../../../config/adapterSettings.ts';
import { apiPathOf, baseOf, idIn, rootBase, segmentOf } from '../../../config/api.ts';
import type { Snapshot, Version } from '../../../config/snapshot.ts';
import type { ResponseHead } from '../../../http1/responseHead.ts';
import type { ExchangeAdaptation, Failure } from '../../../proxy/forwarding/outbound.ts';
import type { RequestFields } from '../../../proxy/forwarding/requestHead.ts';
import { nextVersion } from '../../../versions/lifecycle/stage.ts';
import { type BodyBytes, type BodyFault, isAdaptableJson, isBody, tooLarge } from './adaptedBody.ts';
import { AdaptedReferences, adaptedHead, adaptedRequestLines, derivedValuesOf } from './adaptedHeads.ts';
import type { CompiledRoute } from './compiledAdapter.ts';
import { AdapterState, type VersionAdapter } from './versionAdapter.ts';

const overloaded: Failure = { code: 'OVERLOADED', fault: 'gateway', cause: 'the adapted bodies take too much memory' };

/** The parts of a request that an adapter uses. `now`: epoch ms. */
interface AdaptableRequest {
  readonly method: string;
  readonly fields: RequestFields;
  readonly now: number;
}

interface AdapterParts {
  /** The adapted version: `v1`. */
  readonly version: string;
  readonly adapter: VersionAdapter;
  readonly state: AdapterState;
}

/** One exchange whose backend serves another version. */
export class AdaptedExchange implements ExchangeAdaptation {
  readonly route: CompiledRoute;
  /** Only a `GreasedExchange` adds members that the contract does not describe. */
  readonly mayHaveUnknownMembers = false;
  /** The method for the backend. */
  readonly method: string;
  /** The adapted request body, as latin1 text. */
  body: string | undefined;
  readonly #version: string;
  readonly #adapter: VersionAdapter;
  readonly #state: AdapterState;
  readonly #now: number;
  readonly #fields: RequestFields;
  #sentFields: RequestFields | undefined;
  /** The bytes that are reserved for the part of the response body that has not arrived. */
  #expectedBytes = 0;
  /** The size of the bodies of this exchange that are in memory. */
  #keptBytes = 0;
  #isReleased = false;
  /** The bytes that have arrived of the body that is being read. */
  #arrivedBytes = 0;

  constructor(route: CompiledRoute, { method, fields, now }: AdaptableRequest, parts: AdapterParts) {
    this.route = route;
    // HEAD stays HEAD, and OPTIONS stays OPTIONS.
    this.method = method === route.settings.method ? route.settings.to.method : method;
    this.#fields = fields;
    this.#now = now;
    this.#version = parts.version;
    this.#adapter = parts.adapter;
    this.#state = parts.state;
  }

  get bodyLimit(): number {
    return this.#adapter.compiled.settings.body;
  }

  get adaptedRoute(): string {
    return this.route.name;
  }

  get readsBody(): boolean {
    return this.route.transformRequestBody !== undefined && this.method === this.route.settings.to.method;
  }

  /** The request fields for the backend. */
  get fields(): RequestFields {
    if (this.#sentFields) return this.#sentFields;
    const isNewBody = this.body !== undefined;
    const { hash, settings } = this.#adapter.compiled;
    const accept = settings.derivedFromContracts?.routes.get(this.route.name)?.accept;
    const passedLines = adaptedRequestLines(this.#fields.passedLines, { hash, isNewBody, accept });
    const framing = isNewBody ? { contentLength: String(this.body?.length), transferEncoding: undefined } : {};
    this.#sentFields = { ...this.#fields, passedLines, ...framing };
    return this.#sentFields;
  }

  reserveResponseMemory(): void {
    const takesMemory = this.route.changesResponses && this.method !== 'HEAD' && this.method !== 'OPTIONS';
    if (takesMemory) this.#setCountedBytes(this.#state.expectedSizeOf(this.route.name, this.bodyLimit), 0);
  }

  /** The exchange has ended. Safe to call twice. */
  release(): void {
    this.#setCountedBytes(0, 0);
    this.#isReleased = true;
  }

  reserveMemory(bytes: number): Failure | undefined {
    this.#arrivedBytes += bytes;
    if (this.#arrivedBytes > this.bodyLimit) return this.#failureOf(tooLarge);
    return this.#setCountedBytes(Math.max(0, this.#expectedBytes - bytes), this.#keptBytes + bytes)
      ? undefined
      : overloaded;
  }

  /** Sets the bytes that are counted for this exchange. False: all bodies together take too much memory. */
  #setCountedBytes(expected: number, kept: number): boolean {
    if (this.#isReleased) return true;
    const isWithinLimit = this.#state.addBytes(expected - this.#expectedBytes, kept - this.#keptBytes);
    this.#expectedBytes = expected;
    this.#keptBytes = kept;
    return isWithinLimit;
  }

  adaptRequestBody(bytes: Buffer): Failure | undefined | Promise<Failure | undefined> {
    const { passedLines } = this.#fields;
    const contentType = fieldValueIn(passedLines, 'content-type');
    // The contract may allow requests without a body. The backend decides.
    if (bytes.length === 0 && contentType === undefined) return this.#setBody('');
    if (!isAdaptableJson(contentType)) {
      const detail = 'The body is not application/json in UTF-8, which the adapter of this version requires.';
      return {
        code: 'UNSUPPORTED_MEDIA_TYPE',
        fault: 'client',
        cause: 'the request body is not JSON',
        details: { detail },
      };
    }
    const coding = fieldValueIn(passedLines, 'content-encoding') ?? '';
    const job = { route: this.route.name, status: undefined, contentType, coding, bytes };
    const result = this.#adapter.adaptBody(job);
    return result instanceof Promise ? result.then((one) => this.#setBody(one)) : this.#setBody(result);
  }

  bodyHandling(head: ResponseHead): 'pass' | 'whole' | Failure {
    const { status, contentLength } = head;
    // The backend got no Range field, so it was not asked for a part of a body.
    if (status === 206 && this.method !== 'HEAD' && this.#changesOrChecksBody(200)) {
      return this.#failureOf({ pointer: '', cause: 'the backend has sent a part of a body' });
    }
    // Redirects and errors often have no body, even if the contract describes one.
    const isBodiless = this.method === 'HEAD' || status === 204 || status === 205 || status === 304;
    if (isBodiless || (contentLength === 0 && status >= 300) || !this.#changesOrChecksBody(status)) {
      if (this.#expectedBytes > 0) this.#state.updateExpectedSize(this.route.name, 0, this.bodyLimit);
      this.#setCountedBytes(0, this.#keptBytes);
      return 'pass';
    }
    if (!derivedValuesOf(head).isJson) {
      return this.#failureOf({ pointer: '', cause: 'the body is not JSON in UTF-8' });
    }
    if (contentLength > this.bodyLimit) return this.#failureOf(tooLarge);
    this.#arrivedBytes = 0;
    return 'whole';
  }

  adaptHead(head: ResponseHead, length?: number): ResponseHead {
    const { hash } = this.#adapter.compiled;
    // The header fields of a 304 and of a response to HEAD describe a body that is not sent. A 304 describes the body of the 200
    // (RFC 9110 §15.4.5). If that body would be changed, its length is unknown.
    const statusOfUnsentBody = head.status === 304 ? 200 : this.method === 'HEAD' ? head.status : undefined;
    const wouldChangeBody = statusOfUnsentBody !== undefined && this.#changesOrChecksBody(statusOfUnsentBody);
    return adaptedHead(head, hash, length ?? (wouldChangeBody ? 'unknown' : 'same'));
  }

  adaptBody(head: ResponseHead, bytes: BodyBytes): BodyBytes | Failure | Promise<BodyBytes | Failure> {
    const { contentType, coding } = derivedValuesOf(head);
    const job = { route: this.route.name, status: head.status, contentType, coding, bytes };
    const result = this.#adapter.adaptBody(job);
    return result instanceof Promise ? result.then((one) => this.#onAdapted(one)) : this.#onAdapted(result);
  }

  #onAdapted(result: BodyBytes | BodyFault): BodyBytes | Failure {
    if (!isBody(result)) return this.#failureOf(result);
    const size = Math.max(result.length, this.#arrivedBytes);
    this.#state.updateExpectedSize(this.route.name, size, this.bodyLimit);
    this.#setCountedBytes(0, size);
    return result;
  }

  /** Sets the adapted request body, or returns why there is none. */
  #setBody(result: BodyBytes | BodyFault): Failure | undefined {
    if (isBody(result)) {
      this.body = typeof result === 'string' ? result : result.toString('latin1');
      this.#sentFields = undefined;
      return undefined;
    }
    if (result.cause === tooLarge.cause) {
      return { code: 'BODY_TOO_LARGE', fault: 'client', cause: result.cause };
    }
    const place = result.pointer === '' ? '' : ` at ${result.pointer}`;
    const detail = `The body${place} does not match the contract of this version.`;
    return {
      code: 'BAD_REQUEST',
      fault: 'client',
      cause: `the request body${place}: ${result.cause}`,
      details: { detail },
    };
  }

  #failureOf({ pointer, cause }: BodyFault): Failure {
    const { name: route } = this.route;
    this.#state.onFailure(route, pointer, this.#now);
    const details = { members: { version: this.#version, route, pointer } };
    return {
      code: 'ADAPTER_FAILED',
      fault: 'gateway',
      cause: pointer === '' ? cause : `${cause}: ${pointer}`,
      details,
    };
  }

  /** Whether a body of a response with this status would be changed or checked. */
  #changesOrChecksBody(status: number): boolean {
    return status >= 200 && this.method !== 'OPTIONS' && this.#adapter.changesOrChecksBody(this.route, status);
  }
}

/** The value of a field in `Name: value` lines. */
function fieldValueIn(lines: string, name: string): string | undefined {
  const match = new RegExp(`^${name}:[ \\t]*(.*)$`, 'im').exec(lines)?.[1];
  return match?.trim();
}

/** A hash of the settings, for an adapter whose contracts were not compared. */
function hashOf(settings: AdapterSettings): string {
  const text = JSON.stringify(settings, (_key, value: unknown) => (value instanceof Map ? [...value] : value));
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** The adapter of a version in the current snapshot. */
export class ActiveAdapter {
  readonly state: AdapterState;
  /** Rewrites the URLs and cookie paths of responses. */
  readonly urlRewriting: AdaptedReferences;
  readonly #version: string;
  readonly #adapter: VersionAdapter;
  /** The prefix of the paths that the backend gets: `/v2`, or '' if the backend expects no version. */
  readonly #prefix: string;

  /** `state`: from the former snapshot, if the version was adapted there. */
  constructor(settings: AdapterSettings, version: Version, snapshot: Snapshot, state = new AdapterState()) {
    const backendVersion = snapshot.versions.get(settings.from);
    const templates = version.contract?.paths.entries().map(([template]) => template) ?? [];
    this.state = state;
    this.#version = segmentOf(version.name);
    this.#adapter = state.adapterFor({
      settings,
      hash: settings.derivedFromContracts?.hash ?? hashOf(settings),
      templates,
    });
    const base = baseOf(version.name);
    const apiPath = apiPathOf(version.name, snapshot);
    this.#prefix = backendVersion?.prefix === 'forward' ? `/${segmentOf(settings.from)}` : '';
    this.urlRewriting = new AdaptedReferences(this.#adapter.compiled, {
      basePath: apiPath,
      versionBase: base === rootBase ? '' : apiPath,
      version: segmentOf(version.name),
      from: segmentOf(settings.from),
      isStripped: backendVersion?.prefix !== 'forward',
      moved: nextVersion(version, snapshot)?.name === settings.from ? version.moved.entries() : [],
      isVersion: (segment) => snapshot.versions.has(idIn(base, segment)),
    });
  }

  /**
   * `method`: '' finds an adapted route of any method. `path`: without version and query. If the route is not adapted,
   * returns the reason as a text: '' if the adapter does not list the route.
   */
  routeFor(method: string, path: string): CompiledRoute | string {
    const { compiled } = this.#adapter;
    const route = method === '' ? compiled.findAny(path) : compiled.find(method, path);
    return route === undefined ? '' : 'gone' in route ? route.gone : route;
  }

  hasMemoryFor({ name, changesResponses }: CompiledRoute): boolean {
    return !changesResponses || this.state.hasMemoryFor(name, this.#adapter.compiled.settings.body);
  }

  /** Path and query for the backend. Undefined: a value in the request has no counterpart. */
  requestTargetOf(route: CompiledRoute, path: string, query: string): string | undefined {
    try {
      return this.#prefix + route.requestTargetOf(path, query);
    } catch {
      return undefined;
    }
  }

  begin(route: CompiledRoute, request: AdaptableRequest): AdaptedExchange {
    return new AdaptedExchange(route, request, { version: this.#version, adapter: this.#adapter, state: this.state });
  }
}
