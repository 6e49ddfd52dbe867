import { counted, grouped } from '../shared/counted.ts';
import { harmlessly } from '../shared/harmless.ts';
import { type RetirementFacts, type RouteInContract, refusedOf, requestsOf, type SuccessorFacts } from './facts.ts';
import type { Trend } from './trend.ts';
import type { Remark } from './verdict.ts';
import { dayOf, named, othersInWords, theLast } from './words.ts';

/** What does not make the answer, and should be known all the same. */
export function notesOn(facts: RetirementFacts): Remark[] {
  const { version, stage, ignored, others, newClients, lost, failingRoutes, inFlight, waiting, quiet, now } = facts;
  const notes: Remark[] = [];
  const add = (code: string, text: string | undefined): void => {
    if (text !== undefined) notes.push({ code, text });
  };
  if (stage === 'retired' && facts.refused.length > 0) {
    const refused = counted(refusedOf(facts.refused), 'request');
    const each = named(facts.refused, now, (one) => `${grouped(one.refused)} refused`);
    add('still_knocking', `${refused} to /${version} refused in ${theLast(quiet)}: ${each}.`);
  }
  if (facts.failing.length > 0) {
    const failures = named(facts.failing, now, ({ requests }) => counted(requests, 'failed request'));
    add('failing', `Not counted, since every request was answered 4xx: ${failures}.`);
  }
  if (stage !== 'retired' && facts.gone.length > 0) {
    add('gone', `Called before ${theLast(quiet)} and not since: ${named(facts.gone, now)}.`);
  }
  if (ignored.length > 0) {
    add(
      'ignored',
      `Left out (retire.ignore_clients), ${counted(requestsOf(ignored), 'request')}: ${named(ignored, now)}.`,
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
    return `${harmlessly(route)} (${counted(requests, 'request')}${inContract === false ? ', not in the contract' : ''})`;
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
