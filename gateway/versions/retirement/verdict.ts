import { dayText } from '../../shared/instant.ts';
import { ago, firstOf, inLargestUnit, inWholeUnits, plural, printableExcerpt, withCommas } from '../../shared/text.ts';
import type { Answer, Remark } from '../../usage/evidence/remark.ts';
import type { Trend } from '../../usage/report/trend.ts';
import { waiverWords } from '../lifecycle/stage.ts';
import { countedUses, requestsOf, shareOf } from './countedUsage.ts';
import type { RetirementFacts, SuccessorFacts } from './facts.ts';
import {
  clientCount,
  clientList,
  clientsAndOthers,
  lastPeriodInWords,
  missingRoutesInWords,
  othersInWords,
  pausingInWords,
  requestsSinceFirst,
  shareInWords,
} from './words.ts';

const dayMs = 86_400_000;
const notCounted = 'ignored and failing clients do not count';

/** `remove`: whether the tombstone of a retired version may be removed. */
export type VerdictQuestion = 'retire' | 'remove';

/** Whether a version may be retired, whether no client needs a route, or whether a tombstone may be removed, and why. */
export interface Verdict {
  readonly question: VerdictQuestion;
  /**
   * `not yet`: waiting, or a longer ledger, may change it to yes; `no`: clients still use the version. `not known` only about a
   * tombstone: refused calls may be missing in the ledger.
   */
  readonly answer: Answer | 'not yet';
  /** False if calls may be missing, and no other reason prevents a yes. */
  readonly known: boolean;
  /** The remarks that decide the answer. */
  readonly reasons: readonly Remark[];
  /** Remarks that do not decide the answer but may matter to the operator. */
  readonly notes: readonly Remark[];
  readonly facts: RetirementFacts;
}

export function retirementVerdict(facts: RetirementFacts): Verdict {
  const question = facts.stage === 'retired' ? 'remove' : 'retire';
  const { answer, reasons } = question === 'remove' ? answerOnTombstone(facts) : answerTo(facts);
  const { missing, pending } = facts.evidence;
  const lacking = new Set([...missing, ...pending]);
  // A reason that does not depend on missing calls, such as a sunset in the future, decides on its own.
  const isDecided = answer === 'not yet' && reasons.some((one) => one.code !== 'removed' && !lacking.has(one));
  const known = answer === 'yes' || answer === 'no' || isDecided || lacking.size === 0;
  return { question, answer, known, reasons, notes: notesOn(facts), facts };
}

/** Whether the answer becomes a yes once the counts of the last seconds are in the ledger, unless a client has called. */
export function mayLackCounts({ question, answer, reasons, facts }: Verdict): boolean {
  const { pending } = facts.evidence;
  if (question === 'remove' && answer === 'no') return pending.length > 0 && isOnlyRemembered(facts);
  return (answer === 'not yet' || answer === 'not known') && reasons.some((one) => pending.includes(one));
}

/**
 * Whether only the processes of this gateway know a call of a tombstone. They do not know which clients are ignored: with all counts, the
 * ledger may have no call that counts.
 */
function isOnlyRemembered({ evidence, knocking, waivers, inFlight, waiting }: RetirementFacts): boolean {
  return evidence.called === 'yes' && knocking.length === 0 && waivers.length === 0 && inFlight + waiting === 0;
}

/** May the tombstone be removed? Its clients would then get 404 instead of 410, which names the successor. */
function answerOnTombstone(facts: RetirementFacts): Pick<Verdict, 'answer' | 'reasons'> {
  const { version, quiet, knocking, waivers, evidence, now } = facts;
  const period = lastPeriodInWords(quiet);
  const retired = `/${version} is retired`;
  const waived = waiverWords(waivers);
  if (waived !== undefined) {
    const text = `${retired}, and still served for ${waived}.`;
    return { answer: 'no', reasons: [{ code: 'waived', text }] };
  }
  if (evidence.called === 'yes') {
    const clients = clientList(knocking, now, ({ refused }) =>
      refused > 0 ? `${withCommas(refused)} refused` : 'served before the retirement',
    );
    const isOpen = facts.inFlight + facts.waiting > 0;
    const who =
      knocking.length === 0
        ? isOpen
          ? 'requests are open'
          : `it was called ${ago(evidence.lastCall ?? now, now)}`
        : `${clientCount({ clients: knocking, others: undefined })} called it in ${period}: ${clients}`;
    const text = `${retired}, and ${who}. Keep its tombstone: without it, they get 404 instead of 410.`;
    return { answer: 'no', reasons: [{ code: 'still_knocking', text }] };
  }
  if (evidence.called === 'not known') {
    const text = `${retired}. No call in ${period} is known, but calls may be missing.`;
    return {
      answer: 'not known',
      reasons: [{ code: 'refused_unknown', text }, ...evidence.missing, ...evidence.pending],
    };
  }
  const text = `${retired}, and no client called it in ${period}: its tombstone may be removed.`;
  return { answer: 'yes', reasons: [{ code: 'tombstone_unused', text }] };
}

function answerTo(facts: RetirementFacts): Pick<Verdict, 'answer' | 'reasons'> {
  const isRemoved = facts.stage === 'removed';
  const removal = removedReasons(facts);
  const dateAndLedger = [...(isRemoved ? [] : dateReasons(facts)), ...facts.evidence.missing];
  const use = useReasons(facts);
  const unclear = [...hiddenReasons(facts), ...lostServiceReasons(facts), ...infrequentReasons(facts)];
  const obstacles = [...dateAndLedger, ...use, ...unclear];
  if (obstacles.length === 0) {
    // Calls that the ledger does not have yet can only change a yes.
    const { pending } = facts.evidence;
    if (pending.length > 0) return { answer: 'not yet', reasons: [...removal, ...pending] };
    return { answer: 'yes', reasons: isRemoved ? removal : [reasonForYes(facts)] };
  }
  // The clients of a removed version already get 404. If one of them still calls, the answer is no, even if the ledger is incomplete.
  const isNo = use.length > 0 && (dateAndLedger.length === 0 || isRemoved);
  return { answer: isNo ? 'no' : 'not yet', reasons: [...removal, ...obstacles] };
}

/** A removed version has no dates, and `retire.max_share` does not apply: a 404 does not tell clients where to go. */
function removedReasons(facts: RetirementFacts): Remark[] {
  const { stage, version, quiet } = facts;
  if (stage !== 'removed') return [];
  const removed = `/${version} is no longer in routes.yaml, so its clients get 404`;
  const unused =
    countedUses(facts).length === 0 ? `; none called it in ${lastPeriodInWords(quiet)} (${notCounted})` : '';
  return [{ code: 'removed', text: `${removed}${unused}.` }];
}

/** `/v1`, or `GET /v1/legacy-search`. Safe to print. */
function subjectOf({ version, route }: Pick<RetirementFacts, 'version' | 'route'>): string {
  return route === undefined ? `/${version}` : printableExcerpt(route.text, 100);
}

function dateReasons(facts: RetirementFacts): Remark[] {
  const { sunset, now } = facts;
  if (sunset === undefined) {
    const text = `No sunset is set for ${subjectOf(facts)}, so its clients do not know when it ends.`;
    return [{ code: 'no_sunset', text }];
  }
  if (sunset <= now) return [];
  return [{ code: 'sunset_ahead', text: `The sunset of ${subjectOf(facts)}, ${dayText(sunset)}, is in the future.` }];
}

/** Calls of a route may be counted without its name. */
function hiddenReasons(facts: RetirementFacts): Remark[] {
  const { version, withoutRoute, quiet } = facts;
  if (withoutRoute === 0) return [];
  const counted = `${plural(withoutRoute, 'request')} to /${version} in ${lastPeriodInWords(quiet)}`;
  const text = `${counted} may be calls of ${subjectOf(facts)}: the version had more routes than usage.max_routes, and the routes beyond it are counted together under the name other.`;
  return [{ code: 'routes_folded', text }];
}

/** During an outage of the backend every request fails, but the clients have not left. */
function lostServiceReasons(facts: RetirementFacts): Remark[] {
  const { quiet, lostService, now } = facts;
  if (lostService.length === 0) return [];
  const clients = clientList(lostService, now, ({ lastUsed = 0 }) => `last served ${ago(lastUsed, now)}`);
  const what = `No client of ${subjectOf(facts)} was served in ${lastPeriodInWords(quiet)}, and requests that worked before are answered 4xx`;
  const remedy = 'Check the backend. If these clients no longer matter, add them to retire.ignore_clients.';
  return [{ code: 'all_fail', text: `${what}: ${clients}. ${remedy}` }];
}

/** A monthly job sends no request for most of the month. */
function infrequentReasons(facts: RetirementFacts): Remark[] {
  const { quiet, infrequent, now } = facts;
  if (infrequent.length === 0) return [];
  const clients = clientList(infrequent, now, ({ usualPause = 0, ...one }) => {
    const days = Math.round(usualPause / dayMs);
    return `usually every ${inLargestUnit(days > 0 ? days * dayMs : usualPause)}, ${requestsSinceFirst(one)}`;
  });
  const verb = infrequent.length === 1 ? 'pauses' : 'pause';
  const count = `${plural(infrequent.length, 'client')} of ${subjectOf(facts)}`;
  const text = `${count} usually ${verb} for about ${inWholeUnits(quiet)} or longer and may call again (retire.rhythm): ${clients}.`;
  return [{ code: 'infrequent', text }];
}

function useReasons(facts: RetirementFacts): Remark[] {
  const { version, quiet, maxShare, inFlight, waiting } = facts;
  const [uses, share] = [countedUses(facts), shareOf(facts)];
  if (uses.length > 0 && (share > maxShare || facts.stage === 'removed')) {
    const made = `${clientCount(facts)} made ${plural(requestsOf(uses), 'request')} to ${subjectOf(facts)}`;
    const text = `${made} in ${lastPeriodInWords(quiet)}, ${shareInWords(share)} of all: ${clientsAndOthers(facts)}.`;
    return [{ code: 'clients_left', text }];
  }
  // Each request in flight counts as use of its client. If no client counts, an ignored or failing client has sent it, or the
  // ledger does not have it yet. Waiting requests are never in the ledger.
  if (uses.length > 0 || inFlight + waiting === 0) return [];
  const waitingText = waiting === 0 ? '' : `${inFlight === 0 ? '' : ' and '}${plural(waiting, 'waiting request')}`;
  const open = `/${version} has ${inFlight === 0 ? '' : `${plural(inFlight, 'request')} in flight`}${waitingText}`;
  const text = `${open} now, although no client called it in ${lastPeriodInWords(quiet)} (${notCounted}).`;
  return [{ code: 'in_flight', text }];
}

function reasonForYes(facts: RetirementFacts): Remark {
  const { clients, others, quiet, maxShare } = facts;
  const subject = subjectOf(facts);
  if (countedUses(facts).length === 0) {
    return { code: 'nobody_left', text: `No client called ${subject} in ${lastPeriodInWords(quiet)} (${notCounted}).` };
  }
  const verb = clients.length === 1 && others === undefined ? 'calls' : 'call';
  const left = `${clientCount(facts)} still ${verb} ${subject} and will be cut off: ${clientsAndOthers(facts)}`;
  const share = `${shareInWords(shareOf(facts))} of all requests in ${lastPeriodInWords(quiet)}`;
  const text = `${left}. That is ${share}; retire.max_share allows ${shareInWords(maxShare)}.`;
  return { code: 'below_max_share', text };
}

function notesOn(facts: RetirementFacts): Remark[] {
  const {
    version,
    stage,
    ignored,
    others,
    newClients,
    lostRoutes,
    missingRoutes,
    failingRoutes,
    inFlight,
    waiting,
    quiet,
    now,
  } = facts;
  const notes: Remark[] = [];
  const add = (code: string, text: string | undefined): void => {
    if (text !== undefined) notes.push({ code, text });
  };
  if (facts.failing.length > 0) {
    const clients = clientList(facts.failing, now, ({ requests }) => plural(requests, 'failed request'));
    add('failing', `Not counted, because every request in ${lastPeriodInWords(quiet)} was answered 4xx: ${clients}.`);
  }
  if (stage !== 'retired' && facts.gone.length > 0) {
    add(
      'gone',
      `Clients that called before ${lastPeriodInWords(quiet)} and not since: ${clientList(facts.gone, now, requestsSinceFirst)}.`,
    );
  }
  if (ignored.length > 0) {
    const requests = plural(requestsOf(ignored), 'request');
    add(
      'ignored',
      `Ignored (retire.ignore_clients, waivers), ${requests} in ${lastPeriodInWords(quiet)}: ${clientList(ignored, now)}.`,
    );
  }
  add('waived', waivedInWords(facts));
  if (others !== undefined)
    add('folded', `Not listed in ${lastPeriodInWords(quiet)}: ${othersInWords(others, facts)}.`);
  add('trend', trendInWords(facts.trend));
  if (newClients && newClients.length > 0) {
    const since = facts.deprecation === undefined ? '' : `, ${dayText(facts.deprecation)}`;
    add('new_clients', `New clients since the deprecation${since}: ${clientList(newClients, now)}.`);
  }
  if (lostRoutes.length > 0) {
    add(
      'no_counterpart',
      `Routes used in ${lastPeriodInWords(quiet)} without a counterpart in the successor: ${routeList(lostRoutes)}.`,
    );
  }
  if (missingRoutes.length > 0) add('missing_in_successor', missingInWords(facts));
  if (failingRoutes.length > 0) {
    add('failing_routes', `Routes that only answered 4xx in ${lastPeriodInWords(quiet)}: ${routeList(failingRoutes)}.`);
  }
  if (inFlight + waiting > 0) {
    add('in_flight', `Now: ${plural(inFlight, 'request')} in flight, ${waiting} waiting.`);
  }
  if (facts.route !== undefined) {
    const stays = `${subjectOf(facts)} stays in /${version}, because a route is not removed within a major`;
    add('within_major', `${stays}. The next major need not have it.`);
    if (facts.route.inContract === false)
      add('not_in_contract', `The contract of /${version} does not list this route.`);
  }
  if (facts.adaptedFrom !== undefined && stage !== 'retired')
    add('adapted', `/${version} is served by an adapter from /${facts.adaptedFrom}.`);
  add('successor', stage === 'retired' || stage === 'removed' ? undefined : successorInWords(version, facts.successor));
  if (facts.fleet) notes.push(...facts.fleet.notes);
  add('own_ledger', ledgerScope(facts));
  return notes;
}

function waivedInWords({ version, stage, waivers }: RetirementFacts): string | undefined {
  const words = waiverWords(waivers);
  if (words === undefined) return undefined;
  if (stage === 'retired') return `Keep the backend of /${version} running: it still serves ${words}.`;
  return `After the retirement, /${version} still serves ${words}.`;
}

function missingInWords({ missingRoutes, successor, now }: RetirementFacts): string {
  return `Used routes that the successor, /${successor?.version ?? ''}, does not answer, by requests through this gateway: ${missingRoutesInWords(missingRoutes, now)}.`;
}

function routeList(routes: RetirementFacts['lostRoutes']): string {
  return firstOf(routes, 5, ({ route, requests, inContract }) => {
    const undocumented = inContract === false ? ', not in the contract' : '';
    return `${printableExcerpt(route)} (${plural(requests, 'request')}${undocumented})`;
  });
}

function trendInWords({ kind, zero, pausing }: Trend): string | undefined {
  switch (kind) {
    case 'unknown':
    case 'none':
      return undefined;
    case 'not falling':
      return 'The requests are not falling: the last 7 complete days had about as many as the 7 days before, or more.';
    case 'not clear':
      return 'The last 7 complete days had fewer requests than the 7 days before, but it is not clear whether they keep falling.';
    case 'falling': {
      if (pausing !== undefined) {
        const clients = `${pausingInWords(pausing)}, so no end can be predicted`;
        const until = `Even if none of them calls again, their silence means nothing before ${dayText(pausing.expectedUntil)}`;
        return `The requests have been falling from week to week, but ${clients}. ${until}.`;
      }
      const then =
        zero === undefined ? ', more slowly each week' : `; at this rate there are none from ${dayText(zero)} on`;
      return `The requests have been falling from week to week${then}.`;
    }
  }
}

function successorInWords(version: string, successor: SuccessorFacts | undefined): string | undefined {
  if (successor === undefined) return `/${version} has no successor, so its clients have no version to move to.`;
  const { version: name, targets, healthy, notTried } = successor;
  if (healthy === targets) return undefined;
  if (notTried === targets)
    return `No target of the successor, /${name}, was tried since the gateway started, so it is not known whether it answers.`;
  if (healthy + notTried === 0) return `The successor, /${name}, has no healthy target, so clients cannot move to it.`;
  const untried = notTried === 0 ? '' : `, and ${notTried} ${notTried === 1 ? 'was' : 'were'} not tried yet`;
  return `Of the successor, /${name}, ${healthy} of ${targets} targets are healthy now${untried}.`;
}

function ledgerScope({ evidence: { coveredSince }, fleet }: RetirementFacts): string {
  const since = coveredSince === undefined ? '' : ` since ${dayText(coveredSince)}`;
  if (fleet !== undefined) {
    const count = plural(fleet.heard, 'running gateway');
    return `The ledger only has the requests to this fleet of ${count}${since}: requests directly to the backends are not in it.`;
  }
  return `The ledger only has the requests to this gateway${since}: requests to other gateways, or directly to the backends, are not in it.`;
}
