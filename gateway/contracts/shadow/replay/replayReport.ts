import { createHash } from 'node:crypto';
import { nearest } from '../../../config/nearest.ts';
import { positionsOf } from '../../../contract/document/positions.ts';
import { firstOf, plural, printableExcerpt, safeText } from '../../../shared/text.ts';
import {
  locationOf,
  type SarifLog,
  type SarifResult,
  type SarifRule,
  sarifLog,
  sarifTextOf,
} from '../../compat/report/sarif.ts';
import { uriOf, type WorkingTree } from '../../compat/report/words.ts';
import { assessEvidence } from '../compare/assess.ts';
import { countsOf, differenceInWords, differenceSummary, routeJson } from '../report/report.ts';
import type { ReplayOptions, ReplayOutcome } from './replay.ts';
import type { ReplayedContract } from './replayRequests.ts';

const maxUnlistedNotes = 20;
// In the summary.
const maxFailedRoutes = 3;

/** The JSON of `replay`. */
export function replayReport({ old: oldSide, new: newSide, versions, notes }: ReplayOptions, outcome: ReplayOutcome) {
  const routes = assessEvidence(outcome.rows);
  const pairs = routes.reduce((sum, one) => sum + one.pairs, 0);
  const counts = countsOf(routes);
  const { gone: goneServer, failed } = outcome;
  const stopped =
    goneServer &&
    `The ${goneServer.side} version does not answer any more: ${goneServer.reason}. The remaining requests were not sent.`;
  const compared =
    pairs === 0
      ? `No responses of /${oldSide.version} and /${newSide.version} were compared.`
      : differenceSummary(oldSide.version, newSide.version, counts, pairs, routes.length);
  const failedRoutes = firstOf(failed, maxFailedRoutes, (route) => printableExcerpt(route));
  return {
    kind: 'replay report' as const,
    format: 1 as const,
    old: { version: oldSide.version, url: oldSide.url.href },
    new: { version: newSide.version, url: newSide.url.href },
    summary:
      failed.length === 0
        ? compared
        : `${compared} Differences of ${failedRoutes} are not known, because the comparison failed.`,
    /** False: the responses of a route could not be compared, so it may have further differences. */
    known: failed.length === 0,
    /** False: not all requests were sent, because a server did not answer any more. */
    is_complete: goneServer === undefined,
    pairs,
    /** False: the old version answered only with errors. Two equal errors prove nothing. */
    has_success: outcome.hasSuccess,
    /** The number of differences of each class. */
    counts,
    routes: routes.map((route) => {
      const useInLedger = undefined;
      const { requests: _requests, ...json } = routeJson(route, useInLedger);
      return { ...json, to: outcome.newTemplateByRoute.get(route.route) ?? null };
    }),
    /** What was not compared, and why. */
    no_evidence: [...new Map(outcome.uncompared.map((one) => [`${one.route} ${one.why}`, one])).values()],
    notes: [
      ...(stopped === undefined ? [] : [stopped]),
      ...notes,
      ...unlistedNotes(oldSide.version, versions.old, outcome),
    ],
  };
}

export type ReplayReport = ReturnType<typeof replayReport>;

/** Notes about routes that the contract of the old version does not have: they are misspelt or undocumented. */
function unlistedNotes(version: string, contract: ReplayedContract, outcome: ReplayOutcome): string[] {
  // The version has no contract.
  if (contract.documents === undefined) return [];
  const requestedRoutes = new Set([
    ...outcome.newTemplateByRoute.keys(),
    ...outcome.uncompared.map(({ route }) => route),
  ]);
  const unlisted = [...requestedRoutes].filter((route) => {
    const [method = '', template] = route.split(' ');
    return contract.routeOf(method, template) === undefined;
  });
  const notes = unlisted.slice(0, maxUnlistedNotes).map((route) => {
    const suggestion = nearest(route.split(' ')[1] ?? '', contract.templates);
    return `The contract of /${version} does not have ${route}.${suggestion === undefined ? '' : ` Did you mean ${suggestion}?`}`;
  });
  const more = unlisted.length - notes.length;
  return more > 0 ? [...notes, `The contract of /${version} does not have ${plural(more, 'more route')}.`] : notes;
}

const rules = [
  {
    id: 'undeclared-difference',
    shortDescription: { text: 'Two versions differ in a way that their contracts do not state.' },
    fullDescription: {
      text: 'For example, the new version violates its own contract, or does not send a field that both contracts list.',
    },
    defaultConfiguration: { level: 'error' },
  },
  {
    id: 'declared-difference',
    shortDescription: { text: 'Two versions differ in a way that their contracts state.' },
    fullDescription: { text: 'For example, the new version does not send a field that only the old contract lists.' },
    defaultConfiguration: { level: 'note' },
  },
] as const satisfies readonly SarifRule[];

export interface ReplaySarifOptions extends WorkingTree {
  /** The release of version-gateway. */
  readonly release: string;
  /** The name of the file of requests, for routes that no contract has. */
  readonly file: string;
}

/** For code scanning. A result points to the route in the contract of the new version, or of the old one if the new one lacks it. */
export function replayAsSarif(
  report: ReplayReport,
  options: ReplayOptions,
  sarifOptions: ReplaySarifOptions,
): SarifLog {
  const results = report.routes.flatMap((route) => {
    const location = locationIn(route, options, sarifOptions);
    return route.differences.flatMap((one): SarifResult[] => {
      const ruleIndex = rules.findIndex(({ id }) => id === `${one.class}-difference`);
      const rule = rules[ruleIndex];
      if (rule === undefined) return [];
      // Status 0: the statuses themselves differ.
      const status = one.status === 0 ? '' : ` response ${one.status}`;
      const identity = JSON.stringify([route.route, one.status, one.path, one.what, one.detail]);
      return [
        {
          ruleId: rule.id,
          ruleIndex,
          level: rule.defaultConfiguration.level,
          message: sarifTextOf(
            `${route.route}${status}: ${differenceInWords(one)}, in ${one.count} of ${plural(one.pairs, 'pair')}: ${one.why}.`,
          ),
          locations: [location],
          partialFingerprints: { 'finding/v1': createHash('sha256').update(identity).digest('hex').slice(0, 16) },
          suppressions: [],
          properties: { routes: [safeText(route.route)], routeCount: 1 },
        },
      ];
    });
  });
  const warnings = [
    ...report.notes,
    ...report.no_evidence.map(({ route, why }) => `No evidence: ${route}: ${why}`),
    ...report.routes.flatMap(({ route, difference_count: count, differences }) =>
      count > differences.length ? [`${route} has ${plural(count - differences.length, 'more difference')}.`] : [],
    ),
  ];
  const invocation = {
    executionSuccessful: report.is_complete && report.has_success && report.known,
    toolConfigurationNotifications: [],
    toolExecutionNotifications: warnings.map((text) => ({ level: 'warning' as const, message: sarifTextOf(text) })),
    ruleConfigurationOverrides: [],
  };
  return sarifLog(sarifOptions.release, rules, invocation, results);
}

function locationIn(
  { route, to }: ReplayReport['routes'][number],
  { versions }: ReplayOptions,
  sarifOptions: ReplaySarifOptions,
): SarifResult['locations'][0] {
  const [method = '', template] = route.split(' ');
  const listedRoute = versions.new.routeOf(method, to ?? undefined) ?? versions.old.routeOf(method, template);
  if (listedRoute === undefined)
    return { physicalLocation: { artifactLocation: { uri: uriOf(sarifOptions.file, sarifOptions) } } };
  const { place } = listedRoute.operation;
  return locationOf({ place }, positionsOf(place.file, [place]).get(place), sarifOptions);
}
