import { createHash } from 'node:crypto';
import type { AdapterSettings } from '../config/adapterSettings.ts';
import type { Snapshot, Version } from '../config/snapshot.ts';
import type { ExchangeAdaptation, Failure } from '../forwarding/outbound.ts';
import type { RequestFields } from '../forwarding/requestHead.ts';
import type { ResponseHead } from '../http1/responseHead.ts';
import { nextVersion } from '../lifecycle/stage.ts';
import { type BodyBytes, type BodyFault, isBody, isJson, tooLarge } from './adaptedBody.ts';
import { adaptedHead, adaptedRequestLines, BackReferences, bodyFieldsOf } from './adaptedHeads.ts';
import type { CompiledRoute } from './compiledAdapter.ts';
import { AdapterUse, type VersionAdapter } from './versionAdapter.ts';

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
  readonly use: AdapterUse;
}

/** One exchange whose backend serves another version. */
export class AdaptedExchange implements ExchangeAdaptation {
  readonly route: CompiledRoute;
  readonly greases = false;
  /** The method for the backend. */
  readonly method: string;
  /** The adapted request body, as latin1 text. */
  body: string | undefined;
  readonly #version: string;
  readonly #adapter: VersionAdapter;
  readonly #use: AdapterUse;
  readonly #now: number;
  readonly #fields: RequestFields;
  #sent: RequestFields | undefined;
  #expected = 0;
  #kept = 0;
  #isReleased = false;
  /** The bytes of the body that is read now. */
  #arrived = 0;

  constructor(route: CompiledRoute, { method, fields, now }: AdaptableRequest, parts: AdapterParts) {
    this.route = route;
    // HEAD stays HEAD, and OPTIONS stays OPTIONS.
    this.method = method === route.settings.method ? route.settings.to.method : method;
    this.#fields = fields;
    this.#now = now;
    this.#version = parts.version;
    this.#adapter = parts.adapter;
    this.#use = parts.use;
  }

  get bodyLimit(): number {
    return this.#adapter.compiled.settings.body;
  }

  get adaptedRoute(): string {
    return this.route.name;
  }

  get readsBody(): boolean {
    return this.route.transformBody !== undefined && this.method === this.route.settings.to.method;
  }

  /** The request fields for the backend. */
  get fields(): RequestFields {
    if (this.#sent) return this.#sent;
    const isNewBody = this.body !== undefined;
    const { hash, settings } = this.#adapter.compiled;
    const accept = settings.prepared?.routes.get(this.route.name)?.accept;
    const passed = adaptedRequestLines(this.#fields.passed, { hash, isNewBody, accept });
    const framing = isNewBody ? { contentLength: String(this.body?.length), transferEncoding: undefined } : {};
    this.#sent = { ...this.#fields, passed, ...framing };
    return this.#sent;
  }

  /** Called when the request is in flight. Reserves memory for its response. */
  enter(): void {
    const takesMemory = this.route.changesResponses && this.method !== 'HEAD' && this.method !== 'OPTIONS';
    if (takesMemory) this.#hold(this.#use.sizeOf(this.route.name, this.bodyLimit), 0);
  }

  /** The exchange has ended. Safe to call twice. */
  release(): void {
    this.#hold(0, 0);
    this.#isReleased = true;
  }

  keep(bytes: number): Failure | undefined {
    this.#arrived += bytes;
    if (this.#arrived > this.bodyLimit) return this.#failureOf(tooLarge);
    return this.#hold(Math.max(0, this.#expected - bytes), this.#kept + bytes) ? undefined : overloaded;
  }

  /** Sets the bytes that count for this exchange. False: all bodies together would take too much memory. */
  #hold(expected: number, kept: number): boolean {
    if (this.#isReleased) return true;
    const isWithinLimit = this.#use.change(expected - this.#expected, kept - this.#kept);
    this.#expected = expected;
    this.#kept = kept;
    return isWithinLimit;
  }

  adaptRequestBody(bytes: Buffer): Failure | undefined | Promise<Failure | undefined> {
    const { passed } = this.#fields;
    const contentType = lineOf(passed, 'content-type');
    // The body may be optional. The other version decides.
    if (bytes.length === 0 && contentType === undefined) return this.#takeBody('');
    if (!isJson(contentType)) {
      const detail = 'The body is not application/json in UTF-8, which the adapter of this version requires.';
      return {
        code: 'UNSUPPORTED_MEDIA_TYPE',
        fault: 'client',
        cause: 'the request body is not JSON',
        details: { detail },
      };
    }
    const coding = lineOf(passed, 'content-encoding') ?? '';
    const job = { route: this.route.name, status: undefined, contentType, coding, bytes };
    const result = this.#adapter.adaptBody(job);
    return result instanceof Promise ? result.then((one) => this.#takeBody(one)) : this.#takeBody(result);
  }

  bodyOf(head: ResponseHead): 'pass' | 'whole' | Failure {
    const { status, contentLength } = head;
    // The request has no Range, so a part of a body was not asked for.
    if (status === 206 && this.method !== 'HEAD' && this.#changes(200)) {
      return this.#failureOf({ pointer: '', cause: 'the backend has sent a part of a body' });
    }
    // Redirects and errors often have no body, whatever the contract says.
    const hasNone = this.method === 'HEAD' || status === 204 || status === 205 || status === 304;
    if (hasNone || (contentLength === 0 && status >= 300) || !this.#changes(status)) {
      if (this.#expected > 0) this.#use.onBody(this.route.name, 0, this.bodyLimit);
      this.#hold(0, this.#kept);
      return 'pass';
    }
    if (!bodyFieldsOf(head).isJson) {
      return this.#failureOf({ pointer: '', cause: 'the body is not JSON in UTF-8' });
    }
    if (contentLength > this.bodyLimit) return this.#failureOf(tooLarge);
    this.#arrived = 0;
    return 'whole';
  }

  adaptHead(head: ResponseHead, length?: number): ResponseHead {
    const { hash } = this.#adapter.compiled;
    // The fields of a 304 are those of a 200 (RFC 9110 §15.4.5).
    const described = head.status === 304 ? 200 : this.method === 'HEAD' ? head.status : undefined;
    const isChanged = described !== undefined && this.#changes(described);
    return adaptedHead(head, hash, length ?? (isChanged ? 'unknown' : 'same'));
  }

  adaptBody(head: ResponseHead, bytes: BodyBytes): BodyBytes | Failure | Promise<BodyBytes | Failure> {
    const { contentType, coding } = bodyFieldsOf(head);
    const job = { route: this.route.name, status: head.status, contentType, coding, bytes };
    const result = this.#adapter.adaptBody(job);
    return result instanceof Promise ? result.then((one) => this.#onAdapted(one)) : this.#onAdapted(result);
  }

  #onAdapted(result: BodyBytes | BodyFault): BodyBytes | Failure {
    if (!isBody(result)) return this.#failureOf(result);
    const size = Math.max(result.length, this.#arrived);
    this.#use.onBody(this.route.name, size, this.bodyLimit);
    this.#hold(0, size);
    return result;
  }

  #takeBody(result: BodyBytes | BodyFault): Failure | undefined {
    if (isBody(result)) {
      this.body = typeof result === 'string' ? result : result.toString('latin1');
      this.#sent = undefined;
      return undefined;
    }
    if (result === tooLarge || result.cause === tooLarge.cause) {
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
    this.#use.onFailure(route, pointer, this.#now);
    const details = { members: { version: this.#version, route, pointer } };
    return {
      code: 'ADAPTER_FAILED',
      fault: 'gateway',
      cause: pointer === '' ? cause : `${cause}: ${pointer}`,
      details,
    };
  }

  /** Whether the body of a response with this status is changed, if it has one. */
  #changes(status: number): boolean {
    return status >= 200 && this.method !== 'OPTIONS' && this.#adapter.changes(this.route, status);
  }
}

/** The value of a field in `Name: value` lines. */
function lineOf(lines: string, name: string): string | undefined {
  const match = new RegExp(`^${name}:[ \\t]*(.*)$`, 'im').exec(lines)?.[1];
  return match?.trim();
}

/** A hash of the settings, for an adapter that was not compared with the contracts. */
function hashOf(settings: AdapterSettings): string {
  const text = JSON.stringify(settings, (_key, value: unknown) => (value instanceof Map ? [...value] : value));
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** The adapter of a version in the snapshot in use. */
export class ActiveAdapter {
  readonly use: AdapterUse;
  readonly references: BackReferences;
  readonly #version: string;
  readonly #adapter: VersionAdapter;
  /** The prefix of paths for the backend: its version, or '' if it expects none. */
  readonly #prefix: string;

  /** `use`: of the former snapshot. */
  constructor(settings: AdapterSettings, version: Version, snapshot: Snapshot, use = new AdapterUse()) {
    const source = snapshot.versions.get(settings.from);
    const templates = version.contract?.paths.entries().map(([template]) => template) ?? [];
    this.use = use;
    this.#version = version.name;
    this.#adapter = use.adapterFor({ settings, hash: settings.prepared?.hash ?? hashOf(settings), templates });
    this.#prefix = source?.prefix === 'forward' ? `/${settings.from}` : '';
    this.references = new BackReferences(this.#adapter.compiled, {
      basePath: snapshot.gateway.basePath,
      version: version.name,
      from: settings.from,
      isStripped: source?.prefix !== 'forward',
      moved: nextVersion(version, snapshot)?.name === settings.from ? version.moved.entries() : [],
      isVersion: (segment) => snapshot.versions.has(segment),
    });
  }

  /** `path`: without version and query. Text: the reason why the route is not adapted; '' if the adapter has no such route. */
  routeFor(method: string, path: string): CompiledRoute | string {
    const { compiled } = this.#adapter;
    const route = method === '' ? compiled.findAny(path) : compiled.find(method, path);
    return route === undefined ? '' : 'gone' in route ? route.gone : route;
  }

  hasRoomFor({ name, changesResponses }: CompiledRoute): boolean {
    return !changesResponses || this.use.hasRoomFor(name, this.#adapter.compiled.settings.body);
  }

  /** Path and query for the backend. Undefined: a value of the client has no counterpart. */
  targetOf(route: CompiledRoute, path: string, query: string): string | undefined {
    try {
      return this.#prefix + route.targetOf(path, query);
    } catch {
      return undefined;
    }
  }

  begin(route: CompiledRoute, request: AdaptableRequest): AdaptedExchange {
    return new AdaptedExchange(route, request, { version: this.#version, adapter: this.#adapter, use: this.use });
  }
}
