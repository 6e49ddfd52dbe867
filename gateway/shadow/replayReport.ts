import { createHash } from 'node:crypto';
import { positionsOf } from '../compat/document/positions.ts';
import {
  locationOf,
  type SarifLog,
  type SarifResult,
  type SarifRule,
  sarifLog,
  textOf,
} from '../compat/report/sarif.ts';
import { safeText, uriOf, type WorkingTree } from '../compat/report/words.ts';
import { nearest } from '../config/nearest.ts';
import { plural } from '../shared/text.ts';
import { assessEvidence } from './assess.ts';
import type { ReplayOptions, ReplayOutcome } from './replay.ts';
import { countsOf, differenceInWords, routeJson, summaryOf } from './report.ts';

const mostNotes = 20;

/** The JSON of `replay`. */
export function replayReport({ old, new: now, versions, notes }: ReplayOptions, outcome: ReplayOutcome) {
  const routes = assessEvidence(outcome.rows);
  const pairs = routes.reduce((sum, one) => sum + one.pairs, 0);
  const counts = countsOf(routes);
  const { gone } = outcome;
  const stopped =
    gone && `The ${gone.side} version does not answer any more: ${gone.reason}. The other requests were not sent.`;
  return {
    kind: 'replay report' as const,
    format: 1 as const,
    old: { version: old.version, url: old.url.href },
    new: { version: now.version, url: now.url.href },
    /** In one sentence. */
    summary:
      pairs === 0
        ? `No responses of /${old.version} and /${now.version} were compared.`
        : summaryOf(old.version, now.version, counts, pairs, routes.length),
    /** False: not all requests were sent, because a server did not answer any more. */
    is_complete: gone === undefined,
    pairs,
    /** False: the old version answered only with errors. Two equal errors say nothing. */
    has_success: outcome.hasSuccess,
    /** The differences of each class. */
    counts,
    routes: routes.map((route) => {
      const { requests: _requests, ...json } = routeJson(route, undefined);
      return { ...json, to: outcome.sent.get(route.route) ?? null };
    }),
    /** What was not compared, and why. */
    no_evidence: [...new Map(outcome.uncompared.map((one) => [`${one.route} ${one.why}`, one])).values()],
    notes: [
      ...(stopped === undefined ? [] : [stopped]),
      ...notes,
      ...unlistedNotes(old.version, versions.old, outcome),
    ],
  };
}

export type ReplayReport = ReturnType<typeof replayReport>;

/** Routes that the contract of the old version does not have: a spelling mistake, or a route without a description. */
function unlistedNotes(version: string, contract: ReplayOptions['versions']['old'], outcome: ReplayOutcome): string[] {
  if (contract.documents === undefined) return [];
  const all = new Set([...outcome.sent.keys(), ...outcome.uncompared.map(({ route }) => route)]);
  const unlisted = [...all].filter((route) => {
    const [method = '', template] = route.split(' ');
    return contract.routeOf(method, template) === undefined;
  });
  const notes = unlisted.slice(0, mostNotes).map((route) => {
    const close = nearest(route.split(' ')[1] ?? '', contract.templates);
    return `The contract of /${version} does not have ${route}.${close === undefined ? '' : ` Did you mean ${close}?`}`;
  });
  const more = unlisted.length - notes.length;
  return more > 0 ? [...notes, `The contract of /${version} does not have ${plural(more, 'more route')}.`] : notes;
}

const rules = [
  {
    id: 'undeclared-difference',
    shortDescription: { text: 'The contracts do not tell clients of a difference between two versions.' },
    fullDescription: {
      text: 'The new version violates its own contract, or the old version sends something that its contract does not list.',
    },
    defaultConfiguration: { level: 'error' },
  },
  {
    id: 'declared-difference',
    shortDescription: { text: 'The contracts state a difference between two versions.' },
    fullDescription: { text: 'The responses differ in the way that the contracts state.' },
    defaultConfiguration: { level: 'note' },
  },
] as const satisfies readonly SarifRule[];

export interface ReplaySarifOptions extends WorkingTree {
  /** Of this program. */
  readonly release: string;
  /** The name of the file of requests, for routes that no contract has. */
  readonly file: string;
}

/** For code scanning. A result points to the route in the contract of the new version, or of the old one if the new one lacks it. */
export function replayAsSarif(report: ReplayReport, options: ReplayOptions, base: ReplaySarifOptions): SarifLog {
  const results = report.routes.flatMap((route) => {
    const location = locationIn(route, options, base);
    return route.differences.flatMap((one): SarifResult[] => {
      const ruleIndex = rules.findIndex(({ id }) => id === `${one.class}-difference`);
      const rule = rules[ruleIndex];
      if (rule === undefined) return [];
      const status = one.status === 0 ? '' : ` response ${one.status}`;
      const identity = JSON.stringify([route.route, one.status, one.path, one.what, one.detail]);
      return [
        {
          ruleId: rule.id,
          ruleIndex,
          level: rule.defaultConfiguration.level,
          message: textOf(
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
  const warnings = [...report.notes, ...report.no_evidence.map(({ route, why }) => `No evidence: ${route}: ${why}`)];
  const invocation = {
    executionSuccessful: report.is_complete && report.has_success,
    toolConfigurationNotifications: [],
    toolExecutionNotifications: warnings.map((text) => ({ level: 'warning' as const, message: textOf(text) })),
    ruleConfigurationOverrides: [],
  };
  return sarifLog(base.release, rules, invocation, results);
}

function locationIn(
  { route, to }: ReplayReport['routes'][number],
  { versions }: ReplayOptions,
  base: ReplaySarifOptions,
): SarifResult['locations'][0] {
  const [method = '', template] = route.split(' ');
  const found = versions.new.routeOf(method, to ?? undefined) ?? versions.old.routeOf(method, template);
  if (found === undefined) return { physicalLocation: { artifactLocation: { uri: uriOf(base.file, base) } } };
  const { place } = found.operation;
  return locationOf({ place }, positionsOf(place.file, [place]).get(place), base);
}
