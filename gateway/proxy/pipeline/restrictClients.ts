import { segmentOf } from '../../config/api.ts';
import { problemMembersAboutEnd } from '../../versions/lifecycle/guide.ts';
import type { Exchange, StepOutcome } from './exchange.ts';

/**
 * Applies the restrictions of the version to the client of the request. A version without restrictions costs one comparison.
 */
export function restrictClients(exchange: Exchange): StepOutcome | undefined {
  const { activeVersion, now, method, resource, context } = exchange;
  const restrictions = activeVersion?.restrictions;
  if (activeVersion === undefined || restrictions === undefined) return undefined;
  const isRetired = activeVersion.stage(now) === 'retired';
  const state = context.restrictionState;
  // A preflight does not identify its client. A retired version answers its preflights in the next step.
  if (isPreflight(exchange)) {
    const requestedMethod = exchange.fields.preflightMethod ?? method;
    return !isRetired && restrictions.mayRefuse({ method: requestedMethod, resource, now, state })
      ? preflightAnswer(exchange)
      : undefined;
  }
  const client = exchange.identify();
  const waiver = restrictions.waiverOf(client, now);
  // Freezes and brownouts apply neither to a retired version nor to a client with a waiver. The waiver is only recorded if the
  // version is retired: it is then the reason why the request is served.
  if (isRetired || waiver) {
    exchange.waiver = isRetired ? waiver : undefined;
    exchange.restrictedBy = isRetired && waiver ? 'waiver' : undefined;
    return undefined;
  }
  const ruling = restrictions.rulingOn({ client, method, resource, now, state });
  if (ruling === undefined) return undefined;
  exchange.restrictedBy = ruling.by;
  return { kind: 'problem', problem: ruling.problem };
}

/** Answers 410 for a retired version, and names its successor. Clients with a waiver pass. */
export function refuseRetired(exchange: Exchange): StepOutcome | undefined {
  const { activeVersion, now } = exchange;
  if (activeVersion === undefined || activeVersion.stage(now) !== 'retired' || exchange.waiver) return undefined;
  activeVersion.requests.lastRefused = now;
  if (isPreflight(exchange)) return preflightAnswer(exchange);
  const { version } = activeVersion;
  const members = {
    version: segmentOf(version.name),
    ...problemMembersAboutEnd(version, exchange.activeSnapshot.snapshot, now),
  };
  // A short lifetime, so that a version that is restored is reachable soon. While some client is served, no cache may answer.
  const cacheControl = activeVersion.restrictions?.hasWaiver(now) ? 'no-store' : 'max-age=60';
  return { kind: 'problem', problem: { code: 'VERSION_RETIRED', members, fields: ['Cache-Control', cacheControl] } };
}

export function isPreflight({ method, fields }: Exchange): boolean {
  return method === 'OPTIONS' && fields.origin !== undefined && fields.preflightMethod !== undefined;
}

/** Allows the request. If the preflight were refused, the code of the page could not read why the request is refused. */
export function preflightAnswer({ fields: { preflightMethod = '', preflightHeaders } }: Exchange): StepOutcome {
  const fields = ['Access-Control-Allow-Methods', preflightMethod, 'Access-Control-Max-Age', '60'];
  if (preflightHeaders !== undefined) fields.push('Access-Control-Allow-Headers', preflightHeaders);
  return { kind: 'empty', status: 204, fields };
}
