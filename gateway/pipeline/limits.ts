import type { Exchange } from './exchange.ts';
import type { StepOutcome } from './steps.ts';

/** A body that says its length is refused before a byte of it is read; others are counted as they come. */
export function limitBody({ fields, bodyLimit }: Exchange): StepOutcome | undefined {
  if (fields.contentLength === undefined || Number(fields.contentLength) <= bodyLimit) return undefined;
  return { kind: 'problem', problem: { code: 'BODY_TOO_LARGE' } };
}

/** Beyond its limit a version makes requests wait, and sheds what waits too long, so that the others stay quick. */
export function limitInFlight({ activeVersion }: Exchange): StepOutcome | undefined {
  return activeVersion === undefined || activeVersion.use.inFlightCount < activeVersion.version.limits.inFlight
    ? undefined
    : { kind: 'wait' };
}
