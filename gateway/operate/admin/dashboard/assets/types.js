// Responses of the admin API: the types of the server, by the names that the pages use.

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
 * @typedef {Trend['days'][number]} Day
 * @typedef {import('../../../../usage/report/usagePage.ts').ClientRow} ClientRow
 * @typedef {import('../../../../usage/report/usagePage.ts').RouteRow} RouteRow
 * @typedef {Retirement['reasons'][number]} Remark
 * @typedef {Facts['trend']} Trend
 * @typedef {NonNullable<Facts['successor']>} Successor
 * @typedef {Retirement['facts']} Facts
 * @typedef {import('../../../../versions/retirement/verdictJson.ts').VerdictJson} Retirement
 * @typedef {import('../../../../versions/plan/plan.ts').Plan} Plan
 * @typedef {BrownoutReport['clients'][number]} RefusedClient
 * @typedef {{ route: string } & ComparedRoute['differences'][number]} ResponseDifference
 * @typedef {import('../../../../contracts/shadow/report/report.ts').ShadowRoute} ComparedRoute
 * @typedef {import('../../../../contracts/shadow/report/report.ts').DifferenceReport} DifferenceReport
 * @typedef {{ route: string, responses: number } & DriftReport['routes'][number]['findings'][number]} UndeclaredProperty
 * @typedef {import('../../../../contracts/shadow/report/drift.ts').DriftReport} DriftReport
 * @typedef {import('../../../../versions/retirement/brownoutReport.ts').BrownoutReport} BrownoutReport
 */

/**
 * @template {keyof import('../../../../usage/report/usagePage.ts').ReportRows} By
 * @typedef {import('../../../../usage/report/usageReport.ts').UsageBy<By>} Usage
 */

export {};
