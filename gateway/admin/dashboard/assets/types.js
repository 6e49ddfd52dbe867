// Responses of the admin API, with the fields that the page reads. Times are ISO 8601 strings.
// `Trend.zero`: when the requests would end. `Plan.total.served`: the requests that a backend has answered. `Plan.total.answers`: how the
// candidate would answer the requests.

/**
 * @typedef {{ url: string, health: string, failing_since?: string|null, ejected_until: string|null, reachable: boolean|null, in_flight: number, connections: number, last_error?: string|null, last_error_at?: string|null }} Target
 * @typedef {{ version: string, stage: string, deprecation: string|null, sunset: string|null, in_flight: number, waiting: number, last_served: string|null, waivers: object[], safe_to_stop: boolean, unreachable: boolean, stopped_before_retired: boolean, adapter?: Adapter|null, targets: Target[] }} VersionStatus
 * @typedef {{ from: string, mode: string, failures: { route: string, count: number, pointer: string, at: string }[], not_adapted?: number }} Adapter
 * @typedef {{ at: string, trigger: string, reasons: string[] }} Failure
 * @typedef {{ fingerprint: string, generation: number, loaded_at: string, trigger: string, forced: string[], last_failure: Failure|null }} Config
 * @typedef {{ problem: string|null, held_rows: number }} Ledger
 * @typedef {{ version: string, jumped: string, state: string, text: string, edits: { at: string, changes: string[] }[], undo: { text: string }[], undo_lines: number }} EditWatch
 * @typedef {{ gateway?: { name: string, admin: string, file: string }|null, config: Config, edit_watch?: EditWatch[], workers: { pid: number, since: string, unresponsive_since?: string|null }[], versions: VersionStatus[], usage?: Ledger|null, traffic?: Traffic|null, freezes?: Freeze[], brownouts?: BrownoutWindow[], fleet?: Fleet|null, notify?: Notify|null }} Status
 * @typedef {{ at: string, type: string, title: string, host: string, state: string, result: string|null, attempts: number, next_at: string|null }} Notification
 * @typedef {{ problem: string|null, recent: Notification[] }} Notify
 * @typedef {{ version: string, from: string, mode: string, state: string, reason: string|null, known_clients: number|null, new_clients: number }} Freeze
 * @typedef {{ version: string, at: string, until: string, clients: number, routes: string[]|null, state: string, reason: string|null }} BrownoutWindow
 * @typedef {{ name: string, state: string, heard: string|null, release: string|null, config: string|null, config_differs: boolean, ready: boolean, problem: string|null, in_flight: number, spooled: number, clock_skew_ms: number, clock_differs: boolean, gone_reason: string|null }} FleetGateway
 * @typedef {{ problem: string|null, now: string|null, refusal: string[]|null, gateways: FleetGateway[] }} Fleet
 * @typedef {{ at: string, requests: number }} Day
 * @typedef {{ version: string, client: string, name: string|null, requests: number, errors: number, served: number, refused: number, last: string|null, state?: string, routes: number, top_routes?: { route: string, requests: number, last: string }[]|null, days: Day[]|null }} ClientRow
 * @typedef {{ route: string, requests: number, errors: number, clients: number, last: string }} RouteRow
 * @typedef {{ code: string, text: string }} Remark
 * @typedef {{ version: string, requests_per_second: number, error_share: number|null, p50_ms: number|null, p99_ms: number|null }} VersionRates
 * @typedef {{ span_ms: number, versions: VersionRates[] }} Traffic
 * @typedef {{ version: string, requests: number, last: string }} VersionTotal
 * @typedef {{ kind: string, per_day: number|null, zero: string|null, pausing: { count: number, shortest_pause: number, longest_pause: number, expected_until: string }|null, days: Day[] }} Trend
 * @typedef {{ version: string, health: string, targets: number, healthy: number, not_tried?: number }} Successor
 * @typedef {{ stage: string, sunset: string|null, since: string, quiet: number, requests: number, folded: number, refused: number, refused_count: number, share: number, client_count: number, in_flight: number, trend: Trend, routes_without_counterpart: { route: string }[], routes_missing_in_successor?: { route: string, status: number }[], routes_with_unknown_counterpart?: { route: string }[], failing_routes: { route: string, in_contract: boolean|null }[], successor: Successor|null }} Facts
 * @typedef {{ version: string, answer: string, asked_at: string, reasons: Remark[], notes: Remark[], facts: Facts }} Retirement
 * @typedef {{ summary: string, known: boolean, may_lose: number, total: { served: number, lost: number, answers: { served: number } }, client_count: number, losing_count: number, others_lose: boolean, notes: Remark[] }} Plan
 * @typedef {{ client: string, name: string|null, class: string|null, refused: number, last_call: string, successor_use: string|null }} RefusedClient
 * @typedef {{ route: string, class: string, status: number, path: string, what: string, detail: string, why: string, count: number, pairs: number, last: string }} ResponseDifference
 * @typedef {{ route: string, difference_count: number, differences: Omit<ResponseDifference, 'route'>[], unseen_count: number }} ComparedRoute
 * @typedef {{ version: string, to: string|null, asked_at: string, summary: string, pairs: number, first: string|null, counts: { undeclared: number, declared: number, noise: number, no_evidence: number }, route_count: number, routes: ComparedRoute[], not_compared: string[], notes: string[] }} DifferenceReport
 * @typedef {{ route: string, responses: number, status: number, path: string, what: string, detail: string, count: number, last: string }} UndeclaredProperty
 * @typedef {{ version: string, asked_at: string, summary: string, responses: number, first: string|null, finding_count: number, routes: { route: string, responses: number, findings: Omit<UndeclaredProperty, 'route' | 'responses'>[] }[], notes: string[] }} DriftReport
 * @typedef {{ version: string, asked_at: string, brownouts: { number: number, at: string, end: string }[], number: number|null, refused: number, folded: number, client_count: number, classes: Record<string, number>, clients: RefusedClient[], not_refused_count: number, not_refused: { client: string, name: string|null, spared: boolean }[], notes: Remark[] }} BrownoutReport
 */

/**
 * @template Row
 * @typedef {{ since: string, until: string, counted_since: string|null, problem: string|null, problems?: string[], folded?: number, held?: number, total?: number, total_unfiltered?: number, rows: Row[] }} Usage
 */

export {};
