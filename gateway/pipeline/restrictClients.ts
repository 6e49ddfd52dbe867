import { guidePath } from '../lifecycle/guide.ts';
import type { Exchange, StepOutcome } from './exchange.ts';

/**
 * Finds the client of a request to a version with restrictions, and asks them. A version without restrictions costs one
 * comparison.
 */
export function restrictClients(exchange: Exchange): StepOutcome | undefined {
  const { activeVersion, now, method, resource, context } = exchange;
  const restrictions = activeVersion?.restrictions;
  if (activeVersion === undefined || restrictions === undefined) return undefined;
  const isRetired = activeVersion.stage(now) === 'retired';
  const state = context.restrictionState;
  // Its client cannot be identified. A retired version answers its preflights in the next step.
  if (isPreflight(exchange)) {
    return !isRetired && restrictions.mayRefuse({ method, resource, now, state })
      ? preflightAnswer(exchange)
      : undefined;
  }
  const client = exchange.identify();
  const waiver = restrictions.waiverOf(client, now);
  if (isRetired || waiver) {
    exchange.waiver = isRetired ? waiver : undefined;
    exchange.restrictedBy = isRetired && waiver ? 'waiver' : undefined;
    return undefined;
  }
  const refusal = restrictions.rule({ client, method, resource, now, state });
  if (refusal === undefined) return undefined;
  exchange.restrictedBy = refusal.by;
  return { kind: 'problem', problem: refusal.problem };
}

/** Answers 410 for a retired version, and names its successor. Clients with a waiver pass. */
export function refuseRetired(exchange: Exchange): StepOutcome | undefined {
  const { activeVersion, now } = exchange;
  if (activeVersion === undefined || activeVersion.stage(now) !== 'retired' || exchange.waiver) return undefined;
  activeVersion.use.lastRefused = now;
  if (isPreflight(exchange)) return preflightAnswer(exchange);
  const { version } = activeVersion;
  const { basePath, publicUrl = '' } = exchange.active.snapshot.gateway;
  const successor = activeVersion.successor(now);
  const guide = guidePath(version, successor, exchange.active.snapshot);
  const info = version.info ?? (guide && `${publicUrl}${guide}`);
  const members = {
    version: version.name,
    ...(version.deprecation === undefined ? {} : { deprecation: rfc3339(version.deprecation) }),
    ...(version.sunset === undefined ? {} : { sunset: rfc3339(version.sunset) }),
    ...(successor === undefined ? {} : { successor: `${publicUrl}${basePath}/${successor.name}` }),
    ...(info === undefined ? {} : { info }),
  };
  // A short lifetime, so that a version that is restored is reachable soon. While some client is served, no cache may answer.
  const cacheControl = activeVersion.restrictions?.hasWaiver(now) ? 'no-store' : 'max-age=60';
  return { kind: 'problem', problem: { code: 'VERSION_RETIRED', members, fields: ['Cache-Control', cacheControl] } };
}

function rfc3339(instant: number): string {
  return new Date(instant).toISOString().replace('.000Z', 'Z');
}

function isPreflight({ method, fields }: Exchange): boolean {
  return method === 'OPTIONS' && fields.origin !== undefined && fields.preflightMethod !== undefined;
}

/** A browser hides a refusal from the page if the preflight is refused. */
function preflightAnswer({ fields: { preflightMethod = '', preflightHeaders } }: Exchange): StepOutcome {
  const fields = ['Access-Control-Allow-Methods', preflightMethod, 'Access-Control-Max-Age', '60'];
  if (preflightHeaders !== undefined) fields.push('Access-Control-Allow-Headers', preflightHeaders);
  return { kind: 'empty', status: 204, fields };
}
