// Responses of the admin API, with the fields that the page reads. Times are ISO 8601 strings.
// `Trend.zero`: when the requests would end. `Plan.total.served`: the requests that a backend has answered. `Plan.total.answers`: how the
// candidate would answer the requests.

/**
 * @typedef {import('../../statusJson.ts').StatusJson} Status
 * @typedef {import('../../statusJson.ts').VersionJson} VersionStatus
 * @typedef {import('../../statusJson.ts').TargetJson} Target
 * @typedef {NonNullable<import('../../statusJson.ts').ConfigJson['last_failure']>} Failure
 * @typedef {import('../../statusJson.ts').LedgerJson} Ledger
 * @typedef {import('../../statusJson.ts').TrafficJson} Traffic
 * @typedef {import('../../statusJson.ts').VersionRatesJson} VersionRates
 * @typedef {NonNullable<import('../../statusJson.ts').FeatureStatusJson['edit_watch']>[number]} EditWatch
 * @typedef {NonNullable<import('../../statusJson.ts').FeatureStatusJson['brownouts']>[number]} BrownoutWindow
 * @typedef {NonNullable<import('../../statusJson.ts').FeatureStatusJson['freezes']>[number]} Freeze
 * @typedef {NonNullable<import('../../statusJson.ts').FeatureStatusJson['notify']>} Notify
 * @typedef {Notify['recent'][number]} Notification
 * @typedef {NonNullable<import('../../statusJson.ts').FeatureStatusJson['fleet']>} Fleet
 * @typedef {Fleet['gateways'][number]} FleetGateway
 * @typedef {{ at: string, requests: number }} Day
 * @typedef {{ version: string, client: string, name: string|null, requests: number, errors: number, served: number, refused: number, last: string|null, state?: string, routes: number, top_routes?: { route: string, requests: number, last: string }[]|null, days: Day[]|null }} ClientRow
 * @typedef {{ route: string, requests: number, errors: number, clients: number, last: string }} RouteRow
 * @typedef {{ code: string, text: string }} Remark
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
