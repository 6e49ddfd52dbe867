import type { Exchange } from './exchange.ts';
import type { StepOutcome } from './steps.ts';

const allowed = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';

/** CONNECT would make an open proxy of us, and TRACE shows fields to scripts that may not see them. */
export function refuseMethods({ method }: Exchange): StepOutcome | undefined {
  if (method !== 'CONNECT' && method !== 'TRACE') return undefined;
  return { kind: 'problem', problem: { code: 'METHOD_NOT_ALLOWED', fields: ['Allow', allowed] }, closes: true };
}

/** RFC 9110 §7.6.3: our own name in Via means that the request went round. */
export function refuseLoops({ fields, context }: Exchange): StepOutcome | undefined {
  if (fields.via === '' || !fields.via.includes(context.pseudonym)) return undefined;
  return { kind: 'problem', problem: { code: 'LOOP' } };
}

/** `OPTIONS *` asks the gateway itself, and so does an OPTIONS that may travel no further (RFC 9110 §7.6.2). */
export function answerOptions({ method, origin, fields }: Exchange): StepOutcome | undefined {
  if (method !== 'OPTIONS' || (origin !== '*' && !/^0+$/.test(fields.maxForwards ?? ''))) return undefined;
  return { kind: 'empty', status: 204, fields: ['Allow', allowed] };
}
