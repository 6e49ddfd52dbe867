import type { ReplayReport } from '../../../contracts/shadow/replay/replayReport.ts';
import type { DriftReport } from '../../../contracts/shadow/report/drift.ts';
import { type DifferenceReport, differenceInWords, type ShadowRoute } from '../../../contracts/shadow/report/report.ts';
import type { Document, Section, StyledSection } from '../../../shared/document.ts';
import { rfc3339Of } from '../../../shared/instant.ts';
import { ago, firstOf, plural, printable, printableExcerpt, withCommas } from '../../../shared/text.ts';

// A document shows at most this many of one list. The JSON format lists more.
const maxDifferencesShown = 20;
const maxUnseenFieldsShown = 10;
const maxRoutesShown = 20;

export function shadowDocument(report: DifferenceReport): Document {
  const { version, to, summary, first, last, asked_at: now, used_since: since, not_compared: notCompared } = report;
  const period =
    first !== null && last !== null
      ? `Compared from ${rfc3339Of(first)} to ${rfc3339Of(last)}, ${ago(Date.parse(last), Date.parse(now))}.`
      : undefined;
  return {
    title: `Responses of /${version}${to === null ? '' : ` and /${to}`}`,
    lead: summary,
    sections: [
      { text: period, lines: report.notes },
      ...report.routes.map((route) =>
        routeSection(route, `; ${plural(route.requests, 'request')} since ${since.slice(0, 10)}`),
      ),
      moreRoutes(report),
      {
        detail:
          notCompared.length === 0
            ? undefined
            : `In use and never compared: ${firstOf(notCompared, maxRoutesShown, (route) => printableExcerpt(route))}.`,
      },
    ],
  };
}

/** The result of `replay`. */
export function replayDocument({ summary, notes, routes, no_evidence: uncompared }: ReplayReport): Document {
  const rows = uncompared.map(({ route, why }) => [printableExcerpt(route, 100), printable(why)]);
  return {
    title: summary,
    lead: summary,
    sections: [
      { lines: notes },
      ...routes.map((route) => routeSection(route, '')),
      ...(rows.length > 0 ? [{ heading: 'No evidence', table: { head: ['route', 'why'], rows, isPlain: true } }] : []),
    ],
  };
}

export function driftDocument(report: DriftReport): Document {
  const head = ['status', 'what', 'path', 'responses', 'last seen'];
  return {
    title: `Drift of /${report.version} from its contract`,
    lead: report.summary,
    sections: [
      { lines: report.notes },
      ...report.routes.map(({ route, responses, compared, findings, finding_count: count, has_more_paths: isCut }) => {
        const rows = findings.map((one) => [
          statusOf(one),
          `${one.what} ${one.detail}`.trim(),
          one.path,
          withCommas(one.count),
          rfc3339Of(one.last),
        ]);
        return {
          heading: printableExcerpt(route, 100),
          detail: `${plural(responses, 'response')}, ${withCommas(compared)} with bodies`,
          table: { head, rows, isPlain: true },
          more: [
            ...(count > rows.length ? [`and ${withCommas(count - rows.length)} more`] : []),
            ...(isCut ? ['Some bodies have more than 500 different paths. Paths beyond these are not compared.'] : []),
          ],
        };
      }),
      moreRoutes(report),
    ],
  };
}

function moreRoutes({
  route_count: count,
  routes,
}: Pick<DifferenceReport, 'route_count'> & { routes: readonly object[] }): Section {
  const hidden = count - routes.length;
  return { detail: hidden > 0 ? `and ${plural(hidden, 'more route')}` : undefined };
}

/** `use`: how often clients called the route. */
function routeSection(route: Omit<ShadowRoute, 'requests'>, use: string): StyledSection {
  const {
    pairs,
    compared,
    control,
    skipped,
    differences,
    difference_count: count,
    unseen,
    unseen_count: unseenCount,
  } = route;
  const bodies = compared === pairs ? '' : `, ${withCommas(compared)} with bodies`;
  const rows = differences
    .slice(0, maxDifferencesShown)
    .map((one) => [
      one.class,
      statusOf(one),
      differenceInWords(one),
      `${withCommas(one.count)} of ${withCommas(one.pairs)}`,
      one.why,
    ]);
  const reasons = skipped.map(({ reason, pairs: skippedPairs }) => `${reason} ${withCommas(skippedPairs)}`);
  const unseenFields = firstOf(unseen, maxUnseenFieldsShown, ({ path, why }) => `${path} (${why})`, unseenCount);
  return {
    heading: printableExcerpt(route.route, 100),
    detail: `${plural(pairs, 'pair')}${bodies}, ${plural(control, 'control pair')}${use}`,
    table: { head: ['class', 'status', 'difference', 'pairs', 'why'], rows, isPlain: true },
    more: [
      ...(count > rows.length ? [`and ${plural(count - rows.length, 'more difference')}`] : []),
      ...(reasons.length > 0 ? [`Bodies not compared: ${reasons.join(', ')}.`] : []),
      ...(unseenCount > 0 ? [`No evidence on: ${unseenFields}.`] : []),
    ],
  };
}

/** Status 0: the statuses themselves differ. */
function statusOf({ status }: { readonly status: number }): string {
  return status === 0 ? '' : String(status);
}
