import { parseRequestTarget as read } from '../routing/requestTarget.ts';
import type { Exchange } from './exchange.ts';
import type { StepOutcome } from './steps.ts';

/** Takes the request target apart (RFC 9112 §3.2), or refuses what others might read differently. */
export function readTarget(exchange: Exchange): StepOutcome | undefined {
  const target = exchange.req.url ?? '';
  const isOptions = exchange.method === 'OPTIONS';
  if (isOptions && target === '*') {
    exchange.origin = '*';
    return undefined;
  }
  if (exchange.method === 'CONNECT') return undefined;
  const result = read(target);
  if (typeof result === 'string') {
    return { kind: 'problem', problem: { code: 'BAD_REQUEST', detail: `${sentence(result)}.` }, closes: true };
  }
  // An absolute URL without a path means the server as a whole, too (RFC 9112 §3.2.4).
  exchange.origin = isOptions && /^https?:\/\/[^/?]+$/i.test(target) ? '*' : result.origin;
  exchange.pathEnd = result.pathEnd;
  if (result.authority !== undefined) exchange.host = result.authority;
  return undefined;
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
