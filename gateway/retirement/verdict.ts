import { ago, grouped, inLargestUnit, inWholeUnits, plural, printableExcerpt } from '../shared/text.ts';
import type { Trend } from '../usage/report/trend.ts';
import {
  countedUses,
  type RetirementFacts,
  type RouteInContract,
  refusedOf,
  requestsOf,
  type SuccessorFacts,
  shareOf,
} from './facts.ts';
import { dayOf, howMany, named, othersInWords, percent, secondOf, theLast, who } from './words.ts';

const dayMs = 86_400_000;

/** Whether a version may be retired, and why. */
export interface Verdict {
  /** `not yet`: time alone, or a longer ledger, may make it a yes; `no`: somebody still asks. */
  readonly answer: 'yes' | 'not yet' | 'no';
  /** What makes the answer. */
  readonly reasons: readonly Remark[];
  /** What is worth knowing besides. */
  readonly notes: readonly Remark[];
  readonly facts: RetirementFacts;
}

export interface Remark {
  readonly code: string;
  /** One or two sentences, fit to be printed. */
  readonly text: string;
}

/** Pure: the facts in, the verdict out. */
export function judge(facts: RetirementFacts): Verdict {
  return { ...answerTo(facts), notes: notesOn(facts), facts };
}

function answerTo(facts: RetirementFacts): Pick<Verdict, 'answer' | 'reasons'> {
  const { version } = facts;
  if (facts.stage === 'retired') {
    return { answer: 'yes', reasons: [{ code: 'retired_already', text: `/${version} is retired already.` }] };
  }
  const removed = removedReasons(facts);
  const dates = removed.length > 0 ? [] : dateReasons(facts);
  const early = [...dates, ...ledgerReasons(facts)];
  const used = useReasons(facts);
  const unclear = [...brokenReasons(facts), ...infrequentReasons(facts)];
  const reasons = [...removed, ...early, ...used, ...unclear];
  if (reasons.length === removed.length)
    return { answer: 'yes', reasons: removed.length > 0 ? removed : [whyYes(facts)] };
  // The clients of a removed version get 404 already: whoever is left is the answer, whatever the ledger does not know.
  const isNo = used.length > 0 && (early.length === 0 || removed.length > 0);
  return { answer: isNo ? 'no' : 'not yet', reasons };
}

/** No date counts for what is gone; who still calls does, to the last one, since nothing tells them where to go. */
function removedReasons(facts: RetirementFacts): Remark[] {
  const { stage, version, quiet } = facts;
  if (stage !== 'removed') return [];
  const gone = `/${version} is not in routes.yaml any more: who calls it gets 404`;
  const nobody = countedUses(facts).length === 0 ? `, and no client that counts has in ${theLast(quiet)}` : '';
  return [{ code: 'removed', text: `${gone}${nobody}.` }];
}

function dateReasons({ version, sunset, now }: RetirementFacts): Remark[] {
  if (sunset === undefined) {
    const text = `No sunset is set for /${version}: its clients have not been told when it ends.`;
    return [{ code: 'no_sunset', text }];
  }
  if (sunset <= now) return [];
  return [{ code: 'sunset_ahead', text: `The sunset of /${version}, ${dayOf(sunset)}, lies ahead.` }];
}

/** Silence counts only where somebody has listened. */
function ledgerReasons(facts: RetirementFacts): Remark[] {
  const { coveredSince, since, quiet, retention, problem } = facts;
  const reasons: Remark[] = [];
  if (coveredSince === undefined) {
    reasons.push({ code: 'ledger_empty', text: 'The usage ledger holds nothing yet.' });
  } else if (coveredSince > since) {
    const never = 'it never covers the quiet period, as usage.retention is shorter';
    const then = quiet > retention ? never : `it will cover ${theLast(quiet)} at ${secondOf(coveredSince + quiet)}`;
    reasons.push({ code: 'ledger_short', text: `The usage ledger begins at ${secondOf(coveredSince)}; ${then}.` });
  }
  if (problem !== undefined) {
    const text = `The usage ledger is not well, so that a silence may be its own: ${printableExcerpt(problem, 200)}`;
    reasons.push({ code: 'ledger_broken', text });
  }
  return reasons;
}

/** An outage must not make everybody look gone. */
function brokenReasons({ version, quiet, lostService, now }: RetirementFacts): Remark[] {
  if (lostService.length === 0) return [];
  const who = named(lostService, now, ({ used = 0 }) => `last served ${ago(used, now)}`);
  const text = `Nobody was served on /${version} in ${theLast(quiet)}, and requests that worked before are answered 4xx: ${who}. Check the backend. If they have no more claim to it, name them in retire.ignore_clients.`;
  return [{ code: 'all_fail', text }];
}

/** A monthly job is silent for most of the month. */
function infrequentReasons({ version, quiet, infrequent, now }: RetirementFacts): Remark[] {
  if (infrequent.length === 0) return [];
  const each = named(infrequent, now, ({ usualPause = 0, requests }) => {
    const days = Math.round(usualPause / dayMs);
    return `usually every ${inLargestUnit(days > 0 ? days * dayMs : usualPause)}, ${plural(requests, 'request')}`;
  });
  const verb = infrequent.length === 1 ? 'pauses' : 'pause';
  const who = `${plural(infrequent.length, 'client')} of /${version} usually ${verb} for about ${inWholeUnits(quiet)} or longer`;
  const text = `${who} and may call again (retire.rhythm): ${each}.`;
  return [{ code: 'infrequent', text }];
}

function useReasons(facts: RetirementFacts): Remark[] {
  const { version, quiet, maxShare, inFlight } = facts;
  const [asked, share] = [countedUses(facts), shareOf(facts)];
  if (asked.length > 0 && (share > maxShare || facts.stage === 'removed')) {
    const made = `${howMany(facts)} made ${plural(requestsOf(asked), 'request')} to /${version}`;
    const text = `${made} in ${theLast(quiet)}, ${percent(share)} of all: ${who(facts)}.`;
    return [{ code: 'clients_left', text }];
  }
  // A stream of weeks has not asked within the quiet period. Where somebody has, it may be theirs, and they are few.
  if (asked.length > 0 || inFlight === 0) return [];
  const text = `Still under way on /${version}: ${inFlight} in flight, though nobody that counts has asked in ${theLast(quiet)}.`;
  return [{ code: 'in_flight', text }];
}

function whyYes(facts: RetirementFacts): Remark {
  const { version, clients, others, quiet, maxShare } = facts;
  const one = clients.length === 1 && others === undefined;
  if (countedUses(facts).length === 0) {
    return { code: 'nobody_left', text: `No client that counts has asked for /${version} in ${theLast(quiet)}.` };
  }
  const left = `${howMany(facts)} still call${one ? 's' : ''} /${version} and will be cut off`;
  const share = `${percent(shareOf(facts))} of all in ${theLast(quiet)}, and ${percent(maxShare)} is let pass (retire.max_share)`;
  const text = `${left}: ${who(facts)}. That is ${share}.`;
  return { code: 'below_max_share', text };
}

/** What does not make the answer, and should be known all the same. */
export function notesOn(facts: RetirementFacts): Remark[] {
  const { version, stage, ignored, others, newClients, lost, failingRoutes, inFlight, waiting, quiet, now } = facts;
  const notes: Remark[] = [];
  const add = (code: string, text: string | undefined): void => {
    if (text !== undefined) notes.push({ code, text });
  };
  if (stage === 'retired' && facts.refused.length > 0) {
    const refused = plural(refusedOf(facts.refused), 'request');
    const each = named(facts.refused, now, (one) => `${grouped(one.refused)} refused`);
    add('still_knocking', `${refused} to /${version} refused in ${theLast(quiet)}: ${each}.`);
  }
  if (facts.failing.length > 0) {
    const failures = named(facts.failing, now, ({ requests }) => plural(requests, 'failed request'));
    add('failing', `Not counted, since every request was answered 4xx: ${failures}.`);
  }
  if (stage !== 'retired' && facts.gone.length > 0) {
    add('gone', `Called before ${theLast(quiet)} and not since: ${named(facts.gone, now)}.`);
  }
  if (ignored.length > 0) {
    add(
      'ignored',
      `Left out (retire.ignore_clients), ${plural(requestsOf(ignored), 'request')}: ${named(ignored, now)}.`,
    );
  }
  if (others !== undefined) add('folded', `Not known is who made ${othersInWords(others)}.`);
  add('trend', trendInWords(facts.trend));
  if (newClients && newClients.length > 0) {
    add('new_clients', `New since the deprecation: ${named(newClients, now)}.`);
  }
  if (lost.length > 0) {
    add('no_counterpart', `In use and without a counterpart in the successor: ${routesInList(lost)}.`);
  }
  if (failingRoutes.length > 0) {
    add('failing_routes', `Only answered 4xx: ${routesInList(failingRoutes)}.`);
  }
  if (inFlight + waiting > 0) {
    add('in_flight', `Under way at this moment: ${inFlight} in flight, ${waiting} waiting.`);
  }
  add('successor', stage === 'retired' || stage === 'removed' ? undefined : successorInWords(version, facts.successor));
  add('own_ledger', ownLedger(facts));
  return notes;
}

function routesInList(all: readonly RouteInContract[]): string {
  const routes = all.slice(0, 5).map(({ route, requests, inContract }) => {
    return `${printableExcerpt(route)} (${plural(requests, 'request')}${inContract === false ? ', not in the contract' : ''})`;
  });
  return `${routes.join(', ')}${all.length > routes.length ? ` and ${all.length - routes.length} more` : ''}`;
}

function trendInWords({ kind, zero }: Trend): string | undefined {
  switch (kind) {
    case 'unknown':
    case 'none':
      return undefined;
    case 'not falling':
      return 'The requests are not falling: the last 7 complete days had about as many as the 7 before, or more.';
    case 'not clear':
      return 'The last 7 complete days had fewer requests than the 7 before; whether it goes on is not clear.';
    case 'falling': {
      const then = zero === undefined ? ', by less each week' : `; at this rate there are none from ${dayOf(zero)} on`;
      return `The requests have been falling from week to week${then}.`;
    }
  }
}

function successorInWords(version: string, successor: SuccessorFacts | undefined): string | undefined {
  if (successor === undefined) return `/${version} has no successor: its clients have nowhere to go.`;
  const { version: name, targets, healthy } = successor;
  if (healthy === targets) return undefined;
  if (healthy === 0) return `The successor, /${name}, has no healthy target: its clients have nowhere to go.`;
  return `Of the successor, /${name}, ${healthy} of ${targets} targets are healthy.`;
}

function ownLedger({ coveredSince }: RetirementFacts): string {
  const since = coveredSince === undefined ? '' : `, which begins on ${dayOf(coveredSince)}`;
  return `This is the ledger of this gateway alone${since}: what comes through other gateways, or past them, is not in it.`;
}
