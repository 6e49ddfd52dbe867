import type { IncomingMessage, ServerResponse } from 'node:http';
import type { UpstreamTimeouts } from '../config/snapshot.ts';
import type { Failure } from '../forwarding/failure.ts';
import type { Forwarding } from '../forwarding/http.ts';
import { ExchangeStats, type Outbound, type Switching } from '../forwarding/outbound.ts';
import { type RequestFields, readRequestFields } from '../forwarding/requestFields.ts';
import { requestIdFrom, traceparentFrom } from '../forwarding/requestIds.ts';
import type { LifecycleFields, ResponsePlan } from '../forwarding/responseFields.ts';
import type { SecondTarget } from '../upstream/pool.ts';
import type { Target } from '../upstream/target.ts';
import type { ActiveVersion } from './activeVersion.ts';
import { answerProblem, overloaded } from './answer.ts';
import { requestHeadFor, responsePlanFor } from './heads.ts';
import type { InFlight } from './inFlight.ts';
import type { GatewayContext, Live } from './live.ts';
import { type JudgedPeer, peerOf } from './peer.ts';
import { record } from './record.ts';

export interface OpenExchange extends InFlight {
  /** Undefined if the application answers the request itself. */
  readonly forwarding: Forwarding | undefined;
}

/** One request and its response. The steps write to it, and nothing else travels. */
export class Exchange implements Outbound {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly upgrade: Switching | undefined;
  readonly expectsContinue: boolean;
  readonly context: GatewayContext;
  /** Fixed when its turn comes, so that a reload never changes it midway. */
  readonly live: Live;
  readonly now: number;
  readonly method: string;
  readonly peer: JudgedPeer;
  readonly fields: RequestFields;
  readonly id: string;
  readonly traceparent: string;
  readonly hasBody: boolean;
  readonly stats = new ExchangeStats();

  /** Origin-form, as received, and where its path ends. */
  origin = '';
  pathEnd = 0;
  /** The authority that the client asks: of an absolute-form target, else its Host; '' in HTTP/1.0 without one. */
  host: string;
  activeVersion: ActiveVersion | undefined;
  /** The path behind the version, without the query: `/drinks/7`. */
  resource = '';
  /** What the target is asked for: path and query. */
  path = '';
  #target: Target | undefined;
  /** Set once it is on its way to its target, or to the application. */
  inFlight: OpenExchange | undefined;

  constructor(
    req: IncomingMessage,
    res: ServerResponse,
    context: GatewayContext,
    expectsContinue = false,
    upgrade?: Switching,
  ) {
    this.req = req;
    this.res = res;
    this.context = context;
    this.expectsContinue = expectsContinue;
    this.upgrade = upgrade;
    this.live = context.live;
    this.now = context.now();
    this.method = req.method ?? '';
    this.peer = peerOf(req.socket, this.live.snapshot);
    this.fields = readRequestFields(req.rawHeaders, this.peer.trusted);
    this.host = this.fields.host;
    this.id = requestIdFrom(this.fields.requestId);
    this.traceparent = traceparentFrom(this.fields.traceparent);
    this.hasBody = this.fields.transferEncoding !== undefined || Number(this.fields.contentLength ?? 0) > 0;
  }

  get target(): Target {
    if (!this.#target) throw new Error('no target has been chosen yet');
    return this.#target;
  }

  set target(target: Target) {
    this.#target = target;
  }

  get targetUrl(): string | undefined {
    return this.#target?.url;
  }

  get head(): string {
    return requestHeadFor(this);
  }

  get bodyLimit(): number {
    return this.activeVersion?.version.limits.body ?? 0;
  }

  get attempts(): number {
    return this.activeVersion?.version.retries.attempts ?? 1;
  }

  get timeouts(): UpstreamTimeouts {
    if (!this.activeVersion) throw new Error('no version has been matched yet');
    return this.activeVersion.version.timeouts;
  }

  get closing(): boolean {
    return this.context.draining;
  }

  get bodyIdle(): number {
    return this.live.snapshot.gateway.timeouts.bodyIdle;
  }

  get lifecycle(): LifecycleFields | undefined {
    return this.activeVersion?.lifecycle(this.resource, this.now);
  }

  chooseAgain(where: SecondTarget): boolean {
    const limit = this.activeVersion?.version.limits.inFlightPerTarget ?? 0;
    const next = this.activeVersion?.pool.pickAgain(limit, this.target, where, performance.now());
    if (next) this.target = next;
    return next !== undefined;
  }

  responsePlan(): ResponsePlan {
    return responsePlanFor(this);
  }

  onFailure(failure: Failure): void {
    this.stats.failure = failure;
    answerProblem(
      this,
      failure.code === 'OVERLOADED' ? overloaded : { code: failure.code },
      failure.fault === 'client',
    );
  }

  enter(underway: OpenExchange): void {
    this.inFlight = underway;
    this.activeVersion?.use.enter(underway);
  }

  switched(): void {
    this.stats.switched = true;
    this.context.recorder?.switched?.(this.activeVersion?.version.name ?? '');
  }

  /** It is over. Safe to call twice. */
  leave(): void {
    if (this.inFlight) this.activeVersion?.use.leave(this.inFlight, this.context.now());
    record(this);
  }
}
