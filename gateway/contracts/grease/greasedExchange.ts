import { listOfTokens, lowerCased } from '../../http1/grammar.ts';
import { headForBody, type ResponseHead, responseField } from '../../http1/responseHead.ts';
import type { ExchangeAdaptation, Failure, IncomingRequest } from '../../proxy/forwarding/outbound.ts';
import type { RequestFields } from '../../proxy/forwarding/requestHead.ts';
import { PathTable } from '../../shared/pathTable.ts';
import { type BodyBytes, bufferOf, isAdaptableJson } from '../adapters/serving/adaptedBody.ts';
import { type GreasePlan, type LinkedNode, linkedNodes, type StatusPlan, withUnknownMembers } from './splice.ts';

// Measured: 124 KiB take 2 ms in the thread that serves requests (npm run bench:grease).
const maxBodyBytes = 256 * 1024;
// Bytes of all bodies in memory, for one version in one process.
const maxKeptBytes = 16 * 1024 * 1024;

interface GreasableRequest {
  readonly req: IncomingRequest;
  readonly method: string;
  readonly fields: RequestFields;
  /** The path below the version. */
  readonly resource: string;
  readonly upgrade: unknown;
}

/** Adds unknown members to the responses of one version, by the plan of the current snapshot. */
export class ActiveGrease {
  readonly #takenNames: readonly string[];
  readonly #nodes: readonly LinkedNode[];
  readonly #routes: PathTable<readonly StatusPlan[]>;
  /** Bytes of bodies in memory. */
  #keptBytes = 0;

  /** `plan`: a `GreasePlan` as JSON. */
  constructor(plan: string) {
    const parsed = JSON.parse(plan) as GreasePlan;
    this.#takenNames = parsed.takenNames;
    this.#nodes = linkedNodes(parsed);
    this.#routes = new PathTable(parsed.routes);
  }

  /**
   * Undefined if the response is passed on unchanged: the request does not ask for unknown members, or the route cannot have them.
   * `adaptation`: the adapter that changes the response first.
   */
  begin(request: GreasableRequest, adaptation: ExchangeAdaptation | undefined): GreasedExchange | undefined {
    const { req, method, fields, resource, upgrade } = request;
    if (upgrade !== undefined || (method !== 'GET' && method !== 'HEAD') || !wantsUnknownMembers(req.rawHeaders)) {
      return undefined;
    }
    const statusPlans = this.#routes.find(resource)?.value;
    return statusPlans && new GreasedExchange(this, statusPlans, { method, fields, adaptation });
  }

  /** The node of the plan for the body of a response. Undefined: the body stays as it is. */
  nodeFor(statusPlans: readonly StatusPlan[], status: number, contentType: string): LinkedNode | undefined {
    const keys = [String(status), `${Math.floor(status / 100)}XX`, 'default'];
    const plansOfKeys = keys.map((key) => statusPlans.find(([name]) => name === key));
    const [, byType] = plansOfKeys.find((plan) => plan !== undefined) ?? [];
    const type = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
    const nodeIndex = byType?.find(([name]) => name === type)?.[1];
    return nodeIndex === undefined ? undefined : this.#nodes[nodeIndex];
  }

  splice(body: Buffer, node: LinkedNode): Buffer | undefined {
    return withUnknownMembers(body, node, this.#takenNames);
  }

  /** Counts `bytes` of a body. False: they are not counted, because all bodies together would take too much memory. */
  reserve(bytes: number): boolean {
    if (this.#keptBytes + bytes > maxKeptBytes) return false;
    this.#keptBytes += bytes;
    return true;
  }

  free(bytes: number): void {
    this.#keptBytes -= bytes;
  }
}

/** Fields that sign or describe the exact body, or announce trailers. A response with one of them stays as it is. */
const unchangedIfPresent = [
  'digest',
  'repr-digest',
  'content-digest',
  'content-md5',
  'signature',
  'signature-input',
  'trailer',
];

interface ExchangeParts {
  readonly method: string;
  readonly fields: RequestFields;
  readonly adaptation: ExchangeAdaptation | undefined;
}

/** One exchange whose client asks for unknown members. If anything prevents them, the response is passed on unchanged. */
export class GreasedExchange implements ExchangeAdaptation {
  readonly mayHaveUnknownMembers = true;
  readonly #grease: ActiveGrease;
  readonly #statusPlans: readonly StatusPlan[];
  readonly #parts: ExchangeParts;
  #fields: RequestFields | undefined;
  /** Whether the adapter changes the body first. */
  #isAdapted = false;
  #node: LinkedNode | undefined;
  #isSpliced = false;
  #keptBytes = 0;

  constructor(grease: ActiveGrease, statusPlans: readonly StatusPlan[], parts: ExchangeParts) {
    this.#grease = grease;
    this.#statusPlans = statusPlans;
    this.#parts = parts;
  }

  get method(): string {
    return this.#parts.adaptation?.method ?? this.#parts.method;
  }

  get body(): string | undefined {
    return this.#parts.adaptation?.body;
  }

  get bodyLimit(): number {
    return this.#parts.adaptation?.bodyLimit ?? 0;
  }

  get readsBody(): boolean {
    return this.#parts.adaptation?.readsBody ?? false;
  }

  get adaptedRoute(): string | undefined {
    return this.#parts.adaptation?.adaptedRoute;
  }

  /** An adapter already asks for a body without a content coding. */
  get fields(): RequestFields {
    const { adaptation, fields } = this.#parts;
    if (adaptation) return adaptation.fields;
    this.#fields ??= { ...fields, passedLines: withIdentityCoding(fields.passedLines) };
    return this.#fields;
  }

  reserveResponseMemory(): void {
    this.#parts.adaptation?.reserveResponseMemory();
  }

  release(): void {
    this.#parts.adaptation?.release();
    this.#grease.free(this.#keptBytes);
    this.#keptBytes = 0;
  }

  adaptRequestBody(bytes: Buffer): Failure | undefined | Promise<Failure | undefined> {
    return this.#parts.adaptation?.adaptRequestBody(bytes);
  }

  bodyHandling(head: ResponseHead): 'pass' | 'whole' | Failure {
    const { adaptation, method } = this.#parts;
    const handling = adaptation?.bodyHandling(head) ?? 'pass';
    if (typeof handling === 'object') return handling;
    this.#isAdapted = handling === 'whole';
    // The length of the adapted body is not known yet; 0 stands for it.
    this.#node =
      method === 'HEAD'
        ? undefined
        : this.#nodeFor(this.#isAdapted ? this.#adaptedHead(head, 0) : this.#adaptedHead(head));
    return this.#isAdapted || this.#node !== undefined ? 'whole' : 'pass';
  }

  reserveMemory(bytes: number): Failure | 'pass' | undefined {
    const { adaptation } = this.#parts;
    if (adaptation && (this.#isAdapted || this.#node === undefined)) return adaptation.reserveMemory(bytes);
    if (this.#keptBytes + bytes > maxBodyBytes || !this.#grease.reserve(bytes)) {
      this.#node = undefined;
      return 'pass';
    }
    this.#keptBytes += bytes;
    return undefined;
  }

  adaptBody(head: ResponseHead, body: BodyBytes): BodyBytes | Failure | Promise<BodyBytes | Failure> {
    const { adaptation } = this.#parts;
    if (!this.#isAdapted || !adaptation) return this.#splice(body);
    const adapted = adaptation.adaptBody(head, body);
    return adapted instanceof Promise ? adapted.then((one) => this.#splice(one)) : this.#splice(adapted);
  }

  adaptHead(head: ResponseHead, length?: number): ResponseHead {
    const adapted = this.#isAdapted ? this.#adaptedHead(head, length) : this.#adaptedHead(head);
    const wouldBeSpliced = this.#parts.method === 'HEAD' && this.#nodeFor(adapted) !== undefined;
    if (this.#isSpliced || wouldBeSpliced) {
      const spliced = headForBody(adapted, length ?? 'unknown', (name, value) =>
        name === 'accept-ranges' ? undefined : value,
      );
      const fields = [...spliced.fields, 'Preference-Applied', 'grease'];
      return { ...spliced, fields, names: [...spliced.names, 'preference-applied'] };
    }
    if (length === undefined || this.#isAdapted) return adapted;
    // The body is unchanged, but it arrived in chunks, and is sent with a length.
    return headForBody(adapted, length, (_name, value) => value);
  }

  #adaptedHead(head: ResponseHead, length?: number): ResponseHead {
    return this.#parts.adaptation?.adaptHead(head, length) ?? head;
  }

  #splice(body: BodyBytes | Failure): BodyBytes | Failure {
    if (this.#node === undefined || (typeof body !== 'string' && !Buffer.isBuffer(body))) return body;
    if (body.length > maxBodyBytes) return body;
    const spliced = this.#grease.splice(bufferOf(body), this.#node);
    this.#isSpliced = spliced !== undefined;
    return spliced ?? body;
  }

  /** Undefined: a response with this head is passed on unchanged. */
  #nodeFor(head: ResponseHead): LinkedNode | undefined {
    const { status, contentLength } = head;
    if (status < 200 || status > 299 || status === 206 || contentLength > maxBodyBytes) return undefined;
    if (unchangedIfPresent.some((name) => head.names.includes(name)) || head.names.includes('content-range'))
      return undefined;
    const coding = responseField(head, 'content-encoding');
    if (coding !== undefined && listOfTokens(coding).some((name) => name !== 'identity')) return undefined;
    if (listOfTokens(responseField(head, 'cache-control') ?? '').includes('no-transform')) return undefined;
    const tag = responseField(head, 'etag');
    const contentType = responseField(head, 'content-type') ?? '';
    if ((tag !== undefined && !tag.startsWith('W/')) || !isAdaptableJson(contentType)) return undefined;
    return this.#grease.nodeFor(this.#statusPlans, status, contentType);
  }
}

/** Replaces `Accept-Encoding`. `lines`: `Name: value` lines. */
function withIdentityCoding(lines: string): string {
  const kept = lines.split('\r\n').filter((line) => line !== '' && !/^accept-encoding:/i.test(line));
  return ['Accept-Encoding: identity', ...kept, ''].join('\r\n');
}

/** Whether a request asks for unknown members, and does not ask for a part of the body or for an unchanged body. */
function wantsUnknownMembers(rawHeaders: readonly string[]): boolean {
  let preferences = '';
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = lowerCased(rawHeaders[at] as string);
    const value = rawHeaders[at + 1] as string;
    if (name === 'prefer') preferences += `,${value}`;
    else if (name === 'range' || (name === 'cache-control' && listOfTokens(value).includes('no-transform')))
      return false;
  }
  return preferences !== '' && prefersGrease(preferences);
}

// A part of a list: a text in quotes, a separator, or other text.
const listPart = /"(?:[^"\\]|\\.)*"?|[,;=]|[^",;=]+/gs;

/** Whether a list of preferences has `grease` without a value (RFC 7240 §2). Of repeated preferences, the first one counts. */
export function prefersGrease(list: string): boolean {
  let name = '';
  let value = '';
  let part: 'name' | 'value' | 'parameters' = 'name';
  for (const [text] of `${list},`.matchAll(listPart)) {
    if (text === ',') {
      if (name.trim().toLowerCase() === 'grease') return value.trim() === '' || value.trim() === '""';
      [name, value, part] = ['', '', 'name'];
    } else if (text === ';') part = 'parameters';
    else if (text === '=' && part === 'name') part = 'value';
    else if (part === 'name') name += text;
    else if (part === 'value') value += text;
  }
  return false;
}
