import type { DriftReport } from '../../contracts/shadow/report/drift.ts';
import type { DifferenceReport } from '../../contracts/shadow/report/report.ts';
import type { DriftStatus, ShadowStatus } from '../../contracts/shadow/sampling/comparisonStatus.ts';
import type { ExportedRequests } from '../../contracts/shadow/sampling/sampledRequests.ts';
import type { ProblemCode } from '../../problems/catalogue.ts';
import type { Instant } from '../../shared/instant.ts';
import type { UsageReport } from '../../usage/report/usageReport.ts';
import type { BrownoutStatus } from '../../versions/lifecycle/brownouts.ts';
import type { Refusal } from '../../versions/lifecycle/reloadGuard.ts';
import type { Plan } from '../../versions/plan/plan.ts';
import type { BrownoutReport } from '../../versions/retirement/brownoutReport.ts';
import type { VerdictJson } from '../../versions/retirement/verdictJson.ts';
import type { FleetJson } from '../fleet/fleetJson.ts';
import type { ForgetOutcome } from '../fleet/forget.ts';
import type { NotifyTest } from '../notify/dispatcher.ts';
import type { DigestJson } from '../notify/events.ts';
import type { StatusJson } from './statusJson.ts';

/** The problems of every operation. */
export const commonProblems = ['BAD_REQUEST', 'FORBIDDEN', 'TOO_MANY_ATTEMPTS', 'INTERNAL_ERROR'] as const;
/** The problems of every operation with a body. */
export const bodyProblems = ['UNSUPPORTED_MEDIA_TYPE', 'BODY_TOO_LARGE'] as const;

/** The problems that the handler of an operation may answer. */
export type AdminProblem<Name extends keyof AdminApi> =
  | (typeof commonProblems | typeof bodyProblems)[number]
  | (AdminApi[Name] extends { problems: infer Code extends ProblemCode } ? Code : never);

/**
 * The JSON operations of the admin API. `npm run docs` writes adminApi.json, an OpenAPI document, from these types and comments.
 * `query` and `body`: what the operation takes; an optional body may be absent. `problems`: the errors of its own.
 */
export interface AdminApi {
  /** This document. */
  'GET /api/openapi.json': { answer: object };
  /** The state of the gateway: its configuration, processes, versions, targets and features. */
  'GET /api/status': { answer: StatusJson };
  /** Reads routes.yaml again. 202: a worker has not confirmed the edit. 409: the guard refused it. 422: the file has faults. */
  'POST /api/reload': { body?: object; answer: ReloadOutcome; statuses: 200 | 202 | 409 | 422 };
  /** What a reload of routes.yaml, or of `routes_yaml`, would do. Changes nothing. */
  'POST /api/reload/preview': { body?: RoutesYaml; answer: ReloadOutcome };
  /** Who calls which version. */
  'GET /api/usage': {
    query: UsageParameters;
    answer: UsageReport;
    problems: 'NO_LEDGER' | 'LEDGER_UNANSWERED' | 'UNKNOWN_ROUTE';
  };
  /** The same as a table with a line for each row. */
  'GET /api/usage.csv': {
    query: UsageParameters;
    answer: string;
    mediaType: 'text/csv';
    problems: 'NO_LEDGER' | 'LEDGER_UNANSWERED' | 'UNKNOWN_ROUTE';
  };
  /** Names a client in the file `usage.names`. An empty name removes its name. `was`: the present name. */
  'POST /api/usage/names': {
    body: { client: string; name: string; was?: string };
    answer: { client: string; name: string | null };
    problems: 'NO_LEDGER' | 'LEDGER_UNANSWERED' | 'NAME_CHANGED' | 'NAME_NOT_SAVED';
  };
  /** May the version be retired? For a retired version: may its tombstone be removed? With `route`: may the route end? */
  'GET /api/versions/{version}/retirement': {
    query: { quiet?: Duration; route?: string };
    answer: VerdictJson;
    problems: 'NO_LEDGER' | 'LEDGER_UNANSWERED' | 'UNKNOWN_VERSION' | 'UNKNOWN_ROUTE' | 'ROUTE_ENDED';
  };
  /** Which clients would lose requests by an edit: `routes_yaml`, the present file, or `retire` of one version. Changes nothing. */
  'POST /api/plan': {
    body?: RoutesYaml & { retire?: string; since?: Duration; at?: string };
    answer: Plan | { kind: 'faulty'; faults: readonly string[] };
    problems: 'NO_LEDGER' | 'LEDGER_UNANSWERED' | 'UNKNOWN_VERSION';
  };
  /** The state of the deprecated versions, as the digest has it. */
  'GET /api/digest': { query: { since?: Duration }; answer: DigestJson; problems: 'NO_LEDGER' | 'LEDGER_UNANSWERED' };
  /** Sends a test event to every receiver of `notify`. */
  'POST /api/notify/test': { body?: object; answer: { results: readonly NotifyTest[] }; problems: 'NO_RECEIVER' };
  /** The brownouts of the configuration. */
  'GET /api/brownouts': { answer: { brownouts: readonly BrownoutStatus[] } };
  /** What clients did after a brownout refused them. `window`: the number of a brownout, or its start. */
  'GET /api/brownouts/{version}': {
    query: { window?: string };
    answer: BrownoutReport;
    problems: 'NO_LEDGER' | 'LEDGER_UNANSWERED' | 'UNKNOWN_VERSION';
  };
  /** Ends a brownout early, on all gateways of a fleet. `at`: its start. `stored`: the end survives a restart. */
  'POST /api/brownouts/stop': {
    body: { version: string; at?: Instant };
    answer: { brownout: BrownoutStatus; stored: boolean };
    problems: 'NO_BROWNOUT';
  };
  /** The shadows of the configuration. */
  'GET /api/shadow': { answer: { shadows: readonly ShadowStatus[] } };
  /** How the responses of a version differ from those of the version that gets its copies. */
  'GET /api/shadow/{version}': {
    answer: DifferenceReport;
    problems: 'NO_LEDGER' | 'LEDGER_UNANSWERED' | 'UNKNOWN_VERSION';
  };
  /** The sampled requests, as a file for `replay`. `values=true`: with their values, if the configuration keeps them. */
  'GET /api/shadow/{version}/requests': {
    query: { values?: 'true' | 'false' };
    answer: ExportedRequests;
    problems: 'NO_SHADOW';
  };
  /** Ends a shadow until its settings change. */
  'POST /api/shadow/stop': {
    body: { version: string };
    answer: { shadow: ShadowStatus; stored: boolean };
    problems: 'NO_SHADOW';
  };
  /** The comparisons of versions with their own contracts. */
  'GET /api/drift': { answer: { drifts: readonly DriftStatus[] } };
  /** How the responses of a version differ from its contract. */
  'GET /api/drift/{version}': { answer: DriftReport; problems: 'NO_LEDGER' | 'LEDGER_UNANSWERED' | 'UNKNOWN_VERSION' };
  /** Ends such a comparison until its settings change. */
  'POST /api/drift/stop': {
    body: { version: string };
    answer: { drift: DriftStatus; stored: boolean };
    problems: 'NO_DRIFT';
  };
  /** The gateways of the fleet. */
  'GET /api/fleet': { answer: FleetJson; problems: 'NO_FLEET' };
  /** Marks a silent gateway as gone. `ended_at`: when it served its last request. */
  'POST /api/fleet/forget': {
    body: { name: string; reason: string; ended_at?: Instant };
    answer: Extract<ForgetOutcome, { forgotten: number }>;
    problems: 'NO_FLEET' | 'STORE_UNANSWERED' | 'NOT_FORGOTTEN';
  };
}

/** The result of a reload. An invalid file (`faulty`) and a refused edit change nothing. */
export type ReloadOutcome =
  | {
      readonly kind: 'reloaded';
      readonly changes: readonly string[];
      readonly forced: readonly string[];
      /** What the operator should know of the new targets. Absent: nothing. */
      readonly warnings?: readonly string[];
    }
  /**
   * The new configuration is active, but not every worker has confirmed it, or a part of the gateway has failed to apply it. Until such
   * a worker confirms it or is replaced, the worker may serve the previous configuration.
   */
  | {
      readonly kind: 'incomplete';
      readonly changes: readonly string[];
      readonly forced: readonly string[];
      readonly warnings?: readonly string[];
      readonly unconfirmed: readonly string[];
    }
  /** `reverted`: the previous edit was rejected, and the file no longer contains it. */
  | { readonly kind: 'unchanged'; readonly reverted?: boolean }
  | { readonly kind: 'faulty'; readonly faults: readonly string[] }
  | { readonly kind: 'refused'; readonly refusals: readonly Refusal[] };

/** A number and a unit, such as 7d or 36h. */
type Duration = string;

/** Absent: the file of the gateway. */
interface RoutesYaml {
  readonly routes_yaml?: string;
}

interface UsageParameters {
  /** The time before now that is reported on. Default: 30d. */
  readonly since?: Duration;
  readonly by?: 'version' | 'client' | 'route' | 'day' | 'migration';
  readonly version?: string;
  /** Only the requests to this route of `version`, such as `GET /drinks/{id}`. */
  readonly route?: string;
  /** With by=day. */
  readonly step?: 'day' | 'hour';
  /** Only the requests to this gateway of the fleet. */
  readonly instance?: string;
  readonly limit?: number;
  readonly offset?: number;
  /** A column; a leading `-` sorts in descending order. */
  readonly sort?: string;
  /** A part of the client, its name or the route. */
  readonly filter?: string;
  readonly state?: string;
}
