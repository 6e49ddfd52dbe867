import type { Exchange } from './exchange.ts';
import type { Verdict } from './steps.ts';

/** A body that says its length is refused before a byte of it is read; others are counted as they come. */
export function limitBody({ fields, bodyLimit }: Exchange): Verdict | undefined {
  if (fields.contentLength === undefined || Number(fields.contentLength) <= bodyLimit) return undefined;
  return { kind: 'problem', problem: { code: 'BODY_TOO_LARGE' } };
}

/** Beyond its limit a version makes requests wait, and sheds what waits too long, so that the others stay quick. */
export function limitInFlight({ served }: Exchange): Verdict | undefined {
  return served === undefined || served.use.inFlight < served.version.limits.inFlight ? undefined : { kind: 'wait' };
}
