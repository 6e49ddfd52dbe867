import { guidePath } from '../lifecycle/guide.ts';
import type { Exchange } from './exchange.ts';
import type { StepOutcome } from './steps.ts';

/** A tombstone answers 410: the version is gone for good, and here is where to go. */
export function refuseRetired(exchange: Exchange): StepOutcome | undefined {
  const { activeVersion, now, fields, method } = exchange;
  if (activeVersion === undefined || activeVersion.stage(now) !== 'retired') return undefined;
  activeVersion.use.lastRefused = now;
  if (method === 'OPTIONS' && fields.origin !== undefined && fields.preflightMethod !== undefined) {
    // Refused here, the browser would hide the 410 itself from the page that asks.
    return { kind: 'empty', status: 204, fields: preflight(fields.preflightMethod, fields.preflightHeaders) };
  }
  const { version } = activeVersion;
  const { basePath, publicUrl = '' } = exchange.live.snapshot.gateway;
  const successor = activeVersion.successor(now);
  const guide = guidePath(version, successor, exchange.live.snapshot);
  const info = version.info ?? (guide && `${publicUrl}${guide}`);
  const members = {
    version: version.name,
    ...(version.deprecation === undefined ? {} : { deprecation: rfc3339(version.deprecation) }),
    ...(version.sunset === undefined ? {} : { sunset: rfc3339(version.sunset) }),
    ...(successor === undefined ? {} : { successor: `${publicUrl}${basePath}/${successor.name}` }),
    ...(info === undefined ? {} : { info }),
  };
  // Short, so that a version that comes back does come back.
  return { kind: 'problem', problem: { code: 'VERSION_RETIRED', members, fields: ['Cache-Control', 'max-age=60'] } };
}

function preflight(method: string, headers: string | undefined): string[] {
  const fields = ['Access-Control-Allow-Methods', method, 'Access-Control-Max-Age', '60'];
  if (headers !== undefined) fields.push('Access-Control-Allow-Headers', headers);
  return fields;
}

function rfc3339(instant: number): string {
  return new Date(instant).toISOString().replace('.000Z', 'Z');
}
