import type { FleetSettings, Snapshot } from '../../../config/snapshot.ts';
import type { PlainSnapshot } from '../../../config/transfer.ts';
import type { ShadowQuery } from '../../../contracts/shadow/report/report.ts';
import type { ProblemCode } from '../../../problems/catalogue.ts';
import type { CallEvidence, LiveFacts } from '../../../usage/evidence/callEvidence.ts';
import type { RouteAnswersReport } from '../../../usage/evidence/missingRoutes.ts';
import type { Answer } from '../../../usage/evidence/remark.ts';
import type { LedgerState } from '../../../usage/ledger/writableLedger.ts';
import type { AnsweringGateway } from '../../../usage/observability/answeringGateway.ts';
import type { NewServingAdapter } from '../../../versions/lifecycle/reloadGuard.ts';
import type { RecentRefusals } from '../../../versions/plan/ownAnswers.ts';
import type { PlanQuery } from '../../../versions/plan/plan.ts';
import type { BrownoutEstimate } from '../../../versions/restrictions/brownoutConditions.ts';
import type { FreezeClients, FreezeQuery, FreezeStatus } from '../../../versions/restrictions/knownClients.ts';
import type { LiveState } from '../../../versions/retirement/liveFacts.ts';
import type { ClientOfApi, OwnUsageAnswer } from '../../../versions/selfService/selfService.ts';
import type { StoreMemory } from '../../fleet/membership.ts';
import type { NotifyEvent } from '../../notify/events.ts';
import type { AdminApi, AdminProblem } from '../adminApi.ts';
import type { UsageQueryParams } from '../usageQueryParams.ts';

/** The parameters of each query on the ledger: plain data that can be sent to a thread. Instants in epoch ms. */
export interface LedgerQueryParams {
  /** `GET /api/usage`. `routeAnswers`: only for reports by route. */
  readonly usage: UsageQueryParams & {
    readonly live: LiveFacts;
    readonly routeAnswers?: RouteAnswersReport | undefined;
  };
  /** The same as CSV. */
  readonly usageCsv: LedgerQueryParams['usage'];
  /** `GET /api/versions/{version}/retirement`. `quiet` in ms. */
  readonly retirement: {
    readonly version: string;
    /** Undefined: the verdict is about the whole version. */
    readonly route?: UsageQueryParams['route'];
    readonly quiet: number;
    readonly state: LiveState;
    /** Undefined: the version has no freeze. */
    readonly freeze?: FreezeStatus | undefined;
    readonly now: number;
  };
  /** `GET /api/brownouts/{version}`. */
  readonly brownouts: {
    readonly version: string;
    readonly now: number;
    readonly state: LiveState;
    /** Which brownout: its number, or its start; undefined: the last brownout that has begun. */
    readonly window: number | undefined;
  };
  /** `GET /api/shadow/{version}`. */
  readonly shadow: ShadowQuery;
  /** `GET /api/drift/{version}`. */
  readonly drift: ShadowQuery;
  /** `POST /api/plan`. `candidate`: the edited configuration, or the version that the edit would retire. */
  readonly plan: Pick<PlanQuery, 'since' | 'now' | 'at'> & {
    readonly candidate: PlainSnapshot | { readonly retired: string };
    readonly state: LiveState;
  };
  /** Before a brownout begins: what it would refuse. `at`: its start. */
  readonly brownoutEstimate: {
    readonly version: string;
    readonly at: number;
    readonly now: number;
    readonly live: LiveFacts | undefined;
  };
  /** `POST /api/usage/names`. */
  readonly name: ClientNaming;
  /** `GET /api/digest`, and the weekly digest. `monday`: when the week of a weekly digest ends. */
  readonly digest: {
    readonly since: number;
    readonly monday?: number | undefined;
    readonly state: LiveState;
    readonly gateway: AnsweringGateway | undefined;
    readonly now: number;
  };
  /** The clients that call deprecated versions for the first time or again. */
  readonly clientEvents: { readonly now: number; readonly state: LiveState };
  /** `GET /versions/me` of a client of an API. */
  readonly ownUsage: ClientOfApi & { readonly now: number; readonly live: LiveFacts };
  /** For the reload guard: the recent use of each version. */
  readonly recentUse: {
    readonly now: number;
    /** Each version of `live` → the length of the period in which the guard asks for its calls, ms. */
    readonly quiet: ReadonlyMap<string, number>;
    /** The versions that the guard asks about. */
    readonly live: LiveState['facts'];
    /** The freezes that the edit adds or changes. */
    readonly newFreezes: readonly Pick<FreezeQuery, 'version' | 'from' | 'allow'>[];
    /** The adapters that would begin to serve clients. */
    readonly newAdapters: readonly NewServingAdapter[];
  };
  /** For the reload guard: what the candidate refuses of the requests to these versions. `periods`: up to now, ms, of each. */
  readonly ownRefusals: {
    readonly candidate: PlainSnapshot;
    readonly versions: readonly string[];
    readonly periods: ReadonlyMap<string, number>;
    readonly now: number;
  };
  /** For trials of new targets: the paths of recent GET routes that were answered 2xx or 3xx. */
  readonly answeredPaths: { readonly versions: readonly string[]; readonly since: number };
  /** When each version was last called and last used, and since when the ledger has its calls. */
  readonly lastUse: { readonly now: number; readonly live: LiveState['facts'] };
  /** The clients that a freeze knows, and the new ones. */
  readonly freeze: FreezeQuery;
}

export type LedgerQueryKind = keyof LedgerQueryParams;

/** The results of the queries. Bodies are encoded in the thread, so that the main thread only has to send them. */
export interface LedgerAnswers {
  readonly usage: ApiAnswer<'GET /api/usage'>;
  readonly usageCsv: ApiAnswer<'GET /api/usage.csv'>;
  readonly retirement: ApiAnswer<'GET /api/versions/{version}/retirement'>;
  readonly plan: ApiAnswer<'POST /api/plan'>;
  readonly brownouts: ApiAnswer<'GET /api/brownouts/{version}'>;
  readonly shadow: ApiAnswer<'GET /api/shadow/{version}'>;
  readonly drift: ApiAnswer<'GET /api/drift/{version}'>;
  /** Undefined: the ledger cannot be read. */
  readonly brownoutEstimate: BrownoutEstimate | undefined;
  readonly name: ApiAnswer<'POST /api/usage/names'>;
  /** Undefined: the ledger cannot be read. */
  readonly digest: NotifyEvent | undefined;
  readonly clientEvents: readonly NotifyEvent[];
  readonly ownUsage: OwnUsageAnswer;
  /** `problem`: why the ledger cannot be written or read; calls may then be missing. */
  readonly recentUse: {
    /** By version. */
    readonly versions: ReadonlyMap<string, RecentUse>;
    /** Version → in words, the clients that used this version recently and that a freeze of the edit would refuse. */
    readonly refusedByFreeze: ReadonlyMap<string, string>;
    /** Version of `newAdapters` → what is missing until its adapter may serve clients. */
    readonly whyAdapterCannotServe: ReadonlyMap<string, string>;
    readonly problem: string | undefined;
  };
  /** Undefined: the ledger cannot be read. */
  readonly ownRefusals: RecentRefusals | undefined;
  /** Version → paths below it. Empty if the ledger cannot be read. */
  readonly answeredPaths: ReadonlyMap<string, readonly string[]>;
  /** Undefined: the ledger cannot be read. */
  readonly lastUse: ReadonlyMap<string, LastUseTimes> | undefined;
  readonly freeze: FreezeClients;
}

/** The result of a query that an operation of the admin API sends on. */
type ApiAnswer<Name extends keyof AdminApi> = AnswerBody<AdminApi[Name]['answer']> | AnswerProblem<AdminProblem<Name>>;

/** `Content`: what the body has, before it was encoded. */
export interface AnswerBody<Content> {
  readonly body: Uint8Array<ArrayBuffer>;
  /** The name of the CSV file; undefined: the body is JSON. */
  readonly csvName?: string | undefined;
  readonly mayLackCounts?: boolean;
  /** Never set: it only lets the compiler compare `Content`. */
  readonly content?: Content;
}

/** A query that has no result. */
export interface AnswerProblem<Code extends ProblemCode = ProblemCode> {
  readonly problem: Code;
  readonly detail: string;
  /** Extension members (RFC 9457 §3.2). */
  readonly members?: Readonly<Record<string, unknown>>;
}

/** A new name for a client; '' removes it. */
export interface ClientNaming {
  readonly client: string;
  readonly name: string;
  /** The name that the operator saw. */
  readonly was: string;
}

export interface RecentUse {
  readonly calls: CallEvidence;
  /** Whether the ledger has the requests of the version with their sizes. */
  readonly sizes: CallEvidence;
  /** The clients in words; undefined: there are none. */
  readonly clients: string | undefined;
}

export interface LastUseTimes {
  /** The last request to the version, even if it was refused. Undefined if all requests to it were refused, or if there were none. */
  readonly lastRequest: number | undefined;
  /** The last request that did not fail, of a client that is not ignored and has no waiver. */
  readonly lastUsed: number | undefined;
  /** Whether it was used within the quiet period of its API. */
  readonly inUse: Answer;
  /** Since when the ledger has every call of the version; undefined: it is empty. */
  readonly coveredSince: number | undefined;
}

/** Runs queries on the ledger. The other members are the state of the ledger. */
export interface LedgerClient
  extends Pick<LedgerState, 'problem' | 'lastIncident' | 'unwrittenRows' | 'unwrittenSince' | 'movedRequests'> {
  /** @throws LedgerUnansweredError */
  query<Kind extends LedgerQueryKind>(
    kind: Kind,
    snapshot: Snapshot,
    parameters: LedgerQueryParams[Kind],
  ): Promise<LedgerAnswers[Kind]>;
}

/** The ledger was too slow, or the thread that reads it ended. The message is shown to operators. */
export class LedgerUnansweredError extends Error {
  override readonly name = 'LedgerUnansweredError';
}

/** Explains that a version is unknown. `removed`: the versions that only the ledger has. */
export function unknownVersionText(snapshot: Snapshot, removed: readonly string[] = []): string {
  const listed = snapshot.sortedVersions.map(({ name }) => `/${name}`).join(', ');
  const inLedger = removed.slice(0, 20).map((name) => `/${name}`);
  const also = inLedger.length > 0 ? `; the ledger also has ${inLedger.join(', ')}` : '';
  return `it is neither in the configuration nor in the ledger.  The configuration has ${listed}${also}.`;
}

/** A message to the thread that reads the ledger. */
export interface ReaderRequest {
  readonly number: number;
  readonly kind: LedgerQueryKind;
  readonly parameters: LedgerQueryParams[LedgerQueryKind];
  /** The snapshot as plain data; undefined: the same as in the previous message. */
  readonly snapshot: PlainSnapshot | undefined;
  readonly ledger: {
    readonly file: string;
    /** In a fleet, the shared store is read instead of the file. */
    readonly fleet: FleetSettings | undefined;
    /** What the shared store must have. */
    readonly memory: StoreMemory | undefined;
    /** Undefined: there is no file of client names. */
    readonly namesFile: string | undefined;
    /** Why the ledger cannot be written. */
    readonly writeProblem: string | undefined;
    readonly unwrittenRows: number;
  };
}

export interface ReaderReply {
  /** That of the request. */
  readonly number: number;
  readonly answer: LedgerAnswers[LedgerQueryKind];
}
