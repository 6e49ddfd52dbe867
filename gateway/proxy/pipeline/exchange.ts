import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Snapshot, UpstreamTimeouts } from '../../config/snapshot.ts';
import type { Problem } from '../../problems/problem.ts';
import type { OpenRequest } from '../../usage/counting/collector.ts';
import type { CountedExchange } from '../../usage/counting/countedExchange.ts';
import type { Recorder } from '../../usage/observability/exchangeRecord.ts';
import type { RestrictionKind, RestrictionState, Waived, Waivers } from '../../versions/restrictions/restriction.ts';
import type { SelfService } from '../../versions/selfService/selfService.ts';
import {
  requestIdFrom,
  type ServerSpan,
  serverSpanOf,
  traceparentFrom,
  traceparentOfAttempt,
} from '../forwarding/correlationIds.ts';
import type { Forwarding } from '../forwarding/http.ts';
import {
  type ExchangeAdaptation,
  ExchangeStats,
  type Failure,
  type IncomingRequest,
  type Outbound,
  type OutgoingResponse,
} from '../forwarding/outbound.ts';
import type { PendingUpgrade } from '../forwarding/pendingUpgrade.ts';
import { type RequestFields, readRequestFields, requestHead } from '../forwarding/requestHead.ts';
import type { LifecycleFields, ResponsePlan } from '../forwarding/responseFields.ts';
import type { RetryTarget } from '../upstream/pool.ts';
import type { Target } from '../upstream/target.ts';
import type { ConnectionLoad, TargetUse } from '../upstream/targetLimits.ts';
import type { ActiveSnapshot, ActiveVersion } from './activeVersion.ts';
import { answerProblem, overloaded } from './answer.ts';
import type { InFlight } from './inFlight.ts';
import { type ClientPeer, clientAddressOf, peerOf } from './peer.ts';

/** The state of the gateway that all its exchanges share. */
export interface GatewayContext {
  /** Replaced by a reload. An exchange that has begun keeps the former one. */
  activeSnapshot: ActiveSnapshot;
  /** Replaced when the restrictions of clients change. */
  restrictionState: RestrictionState;
  readonly now: () => number;
  /** Our name in Via: random, so that it identifies this process only. */
  readonly pseudonym: string;
  /** Exchanges that have begun and are not recorded yet. */
  unrecordedExchanges: number;
  /** The gateway is stopping: every answer carries `Connection: close`. */
  draining: boolean;
  /** Receives every exchange that ends; undefined: exchanges are not recorded. */
  recorder?: Recorder | undefined;
  /** Marks which versions are called, so that a crash does not lose this fact. Undefined: the gateway keeps no ledger. */
  callMarks?:
    | {
        onCall(exchange: Exchange, activeVersion: ActiveVersion): void;
        onUnlistedCall(exchange: Exchange, version: string): void;
      }
    | undefined;
  /** Undefined: no version has a shadow or `drift`. */
  shadow?: { observe(exchange: Exchange): Outbound['observer'] } | undefined;
  readonly isDiscovery: (path: string, snapshot: Snapshot) => boolean;
  /** Undefined: the gateway keeps no ledger. */
  readonly selfService: SelfService | undefined;
  /** Undefined if `isDiscovery` is always false. */
  readonly discovery: ((req: IncomingMessage, res: ServerResponse) => void) | undefined;
}

/** The result of a step after which no further step runs. */
export type StepOutcome =
  | { readonly kind: 'problem'; readonly problem: Problem; readonly closesConnection?: boolean }
  /** A response without a body. */
  | { readonly kind: 'empty'; readonly status: number; readonly fields: readonly string[] }
  /** A limit is reached: the request may wait for room. */
  | { readonly kind: 'wait' }
  /** The first request that needs modules which are not loaded: they are loaded, and then the steps run again. */
  | { readonly kind: 'loadModules'; readonly load: () => Promise<void> }
  | { readonly kind: 'discovery' }
  /** `GET /versions/me` of the API with this base. */
  | { readonly kind: 'ownUsage'; readonly base: string };

/** One request and its response. The steps write their results to it. */
export class Exchange implements Outbound, InFlight {
  readonly req: IncomingRequest;
  readonly res: OutgoingResponse;
  readonly upgrade: PendingUpgrade | undefined;
  readonly expectsContinue: boolean;
  readonly context: GatewayContext;
  /** Fixed when the request is started, so that a reload never changes it midway. */
  readonly activeSnapshot: ActiveSnapshot;
  /** When the request was started, epoch ms. */
  readonly now: number;
  readonly method: string;
  readonly peer: ClientPeer;
  readonly fields: RequestFields;
  readonly id: string;
  /** As received, or of a new trace. */
  readonly traceparent: string;
  /** Undefined: no span of this exchange is exported. */
  readonly span: ServerSpan | undefined;
  readonly hasBody: boolean;
  readonly stats = new ExchangeStats();
  /** The request target in origin-form, as received, and where its path ends. */
  originForm = '';
  pathEnd = 0;
  /** The authority of the request: of an absolute-form target, else its Host; '' in HTTP/1.0 without Host. */
  host: string;
  activeVersion: ActiveVersion | undefined;
  /** The path after the version, without the query: `/drinks/7`. */
  resource = '';
  /** The path and query that are sent to the target. */
  path = '';
  /** Set if the version is served by an adapter, or the client asks for unknown members. */
  adaptation: ExchangeAdaptation | undefined;
  chosenTarget: Target | undefined;
  /**
   * Undefined: the connection carries one request at a time, or is that of a trusted proxy, which sends the requests of many clients on
   * one connection.
   */
  readonly connectionLoad: ConnectionLoad | undefined;
  /** Set while the request counts towards the limit of its target. */
  #targetUse: TargetUse | undefined;
  /** Set when the request is forwarded. Stays undefined if the application answers the request. */
  forwarding: Forwarding | undefined;
  observer: Outbound['observer'];
  /** Set if the request was counted before its end. */
  counted: OpenRequest | undefined;
  /** The client; undefined until a restriction of the version has to know it. */
  identified: CountedExchange['identified'];
  /** The waiver by which a retired version serves the request. Undefined: there is none. */
  waiver: Waived | undefined;
  restrictedBy: RestrictionKind | undefined;
  inFlightIndex = -1;

  constructor(
    req: IncomingRequest,
    res: OutgoingResponse,
    context: GatewayContext,
    expectsContinue = false,
    upgrade?: PendingUpgrade,
  ) {
    this.req = req;
    this.res = res;
    this.context = context;
    this.expectsContinue = expectsContinue;
    this.upgrade = upgrade;
    this.activeSnapshot = context.activeSnapshot;
    this.now = context.now();
    this.method = req.method ?? '';
    this.peer = peerOf(req.socket, this.activeSnapshot.snapshot);
    this.connectionLoad = this.peer.trusted ? undefined : req.connectionLoad;
    this.fields = readRequestFields(req.rawHeaders, this.peer.trusted);
    this.host = this.fields.host;
    this.id = requestIdFrom(this.fields.requestId);
    const { telemetry } = this.activeSnapshot.snapshot;
    this.traceparent = traceparentFrom(this.fields.traceparent, telemetry?.sample);
    this.span = telemetry && serverSpanOf(this.traceparent, this.fields.traceparent);
    this.hasBody = this.fields.transferEncoding !== undefined || Number(this.fields.contentLength ?? 0) > 0;
  }

  get versionName(): string {
    return this.activeVersion?.version.name ?? '';
  }

  get target(): Target {
    if (!this.chosenTarget) throw new Error('no target has been chosen yet');
    return this.chosenTarget;
  }

  get head(): string {
    const { host, target, traceparent, span, adaptation } = this;
    return requestHead({
      method: adaptation?.method ?? this.method,
      path: this.path,
      fields: adaptation?.fields ?? this.fields,
      host: host === '' ? target.authority : host,
      requestedHost: host,
      id: this.id,
      traceparent: span ? traceparentOfAttempt(traceparent, span, this.stats.retries + 1) : traceparent,
      tracestate: this.tracestate,
      viaVersion: this.req.httpVersion === '2' ? '2.0' : this.req.httpVersion,
      peer: this.peer,
      removedPrefix: this.activeVersion?.removedPrefix ?? '',
      pseudonym: this.context.pseudonym,
      upgrade: this.upgrade?.protocol ?? '',
    });
  }

  /** Undefined for a new trace, even if the client sent a tracestate (W3C Trace Context §3.3). */
  get tracestate(): string | undefined {
    return this.traceparent === this.fields.traceparent ? this.fields.tracestate : undefined;
  }

  get hasChunkedBody(): boolean {
    return this.fields.transferEncoding !== undefined;
  }

  get wholeBody(): string | undefined {
    return this.adaptation?.body ?? this.req.wholeBody;
  }

  /** The size of the body that the client sends, in bytes; without Content-Length, of the part that has arrived. */
  get bodySize(): number {
    const { contentLength } = this.fields;
    if (contentLength !== undefined) return Number(contentLength);
    const { collectedBytes, bytesIn, switchedProtocols } = this.stats;
    return switchedProtocols ? 0 : collectedBytes || bytesIn;
  }

  /** The length of the request target, which `gateway.limits.url` limits. */
  get targetSize(): number {
    return this.req.url?.length ?? 0;
  }

  /** The size of the head, which `gateway.limits.head` limits. */
  get headSize(): number {
    return this.fields.size + this.targetSize;
  }

  get bodyLimit(): number {
    const limit = this.activeVersion?.version.limits.body ?? 0;
    return this.adaptation?.readsBody ? Math.min(limit, this.adaptation.bodyLimit) : limit;
  }

  get attempts(): number {
    return this.activeVersion?.version.retries.attempts ?? 1;
  }

  get timeouts(): UpstreamTimeouts {
    if (!this.activeVersion) throw new Error('no version has been matched yet');
    return this.activeVersion.version.timeouts;
  }

  get isGatewayStopping(): boolean {
    return this.context.draining;
  }

  get bodyIdle(): number {
    return this.activeSnapshot.snapshot.gateway.timeouts.bodyIdle;
  }

  get lifecycle(): LifecycleFields | undefined {
    const fields = this.activeVersion?.lifecycle(this.method, this.resource, this.now);
    return fields && this.waiver ? { ...fields, sunset: this.waiver.sunset } : fields;
  }

  /** The status of the response; 0 if it has not begun. */
  get status(): number {
    if (this.stats.switchedProtocols) return 101;
    if (this.stats.applicationStatus !== undefined) return this.stats.applicationStatus;
    return this.res.headersSent ? this.res.statusCode : 0;
  }

  get clientAddress(): string {
    return clientAddressOf(this.peer, this.fields.forwarded?.get('x-forwarded-for'));
  }

  /** The name of the client in the usage ledger. */
  identify(): string {
    const current = this.context.activeSnapshot.identification;
    if (this.identified?.identification !== current) {
      this.identified = { client: current.clientOf(this.req.rawHeaders, this.clientAddress), identification: current };
    }
    return this.identified.client;
  }

  /** The start of the brownout that refused the request, epoch ms. */
  get brownout(): number | undefined {
    if (this.restrictedBy !== 'brownout') return undefined;
    return this.activeVersion?.version.brownouts.find(({ at, end }) => at <= this.now && this.now < end)?.at;
  }

  isWaived(restrictions: Waivers, now: number): boolean {
    return restrictions.waiverOf(this.identify(), now) !== undefined;
  }

  replaceTarget(where: RetryTarget): boolean {
    const next = this.activeVersion?.pickAgain(this.target, where);
    if (next === undefined) return false;
    this.releaseTarget();
    this.chosenTarget = next;
    this.occupyTarget();
    return true;
  }

  occupyTarget(): void {
    const { target, activeVersion, connectionLoad } = this;
    target.inFlight += 1;
    const use = activeVersion?.requests.targetUses.of(target);
    if (use === undefined) return;
    use.inFlight += 1;
    connectionLoad?.add(use, 1);
    this.#targetUse = use;
  }

  releaseTarget(): void {
    const use = this.#targetUse;
    this.target.inFlight -= 1;
    if (use === undefined) return;
    use.inFlight -= 1;
    this.connectionLoad?.add(use, -1);
    this.#targetUse = undefined;
  }

  responsePlan(): ResponsePlan {
    const { activeVersion } = this;
    return {
      urlRewriting: activeVersion?.urlRewriting,
      authorities: { target: this.target.authority, client: this.host, public: activeVersion?.publicAuthority ?? '' },
      lifecycle: this.lifecycle,
      cacheVariation: activeVersion?.cacheVariation,
      pseudonym: this.context.pseudonym,
      trailers: this.req.httpVersion !== '1.0' && this.method !== 'HEAD',
      hsts: this.peer.hsts,
    };
  }

  onFailure(failure: Failure): void {
    this.stats.failure = failure;
    const { code, details } = failure;
    const problem = code === 'OVERLOADED' ? overloaded : { code, ...details };
    answerProblem(this, problem, { closesConnection: failure.fault === 'client' });
  }

  onSwitched(): void {
    this.stats.switchedProtocols = true;
    this.context.recorder?.tunnelOpened?.(this.versionName);
  }

  onTunnelClosed(): void {
    // Every exchange ends with the `close` of its response. A response that was detached from its socket does not emit it.
    this.res.emit('close');
  }

  countedSoFar(): CountedExchange {
    return {
      version: this.versionName,
      method: this.method,
      resource: this.resource,
      paths: this.activeVersion?.version.contract?.paths,
      rawHeaders: this.req.rawHeaders,
      address: this.clientAddress,
      identified: this.identified,
      brownout: this.brownout,
      status: this.status,
      served: this.stats.answeredAfter !== undefined,
      at: this.now,
      bodySize: this.bodySize,
      targetSize: this.targetSize,
      headSize: this.headSize,
    };
  }

  endIfEndless(): void {
    this.forwarding?.endIfEndless();
  }

  cut(): void {
    this.forwarding?.cut();
  }
}
