import { mask } from '../../config/mask.ts';
import { isOnTheWeb } from '../document/references.ts';
import { tooLarge } from './disk.ts';
import { Refusal } from './refusal.ts';

export interface WebLimits {
  readonly documents: number;
  /** Of one document. */
  readonly maxBytes: number;
  readonly totalBytes: number;
  readonly redirects: number;
  /** For one document with all its redirects, and for all of them. */
  readonly documentMs: number;
  readonly totalMs: number;
}

export function webLimits(maxBytes: number): WebLimits {
  return {
    documents: 200, // far more than a contract is ever split into over the web
    maxBytes,
    totalBytes: maxBytes,
    redirects: 5,
    documentMs: 10_000,
    totalMs: 30_000,
  };
}

/** Fetches one document; `url` is the one that has answered in the end. @throws Refusal */
export async function fetchBytes(
  url: string,
  limits: WebLimits,
  deadline: AbortSignal,
): Promise<{ readonly bytes: Uint8Array; readonly url: string }> {
  const signal = AbortSignal.any([AbortSignal.timeout(limits.documentMs), deadline]);
  const headers = { accept: 'application/json, application/yaml, */*;q=0.5' };
  try {
    let at = url;
    for (let hops = 0; hops <= limits.redirects; hops += 1) {
      const response = await fetch(at, { redirect: 'manual', signal, headers });
      if (response.status < 300 || response.status >= 400) {
        return { bytes: await bodyOf(response, limits.maxBytes), url: at };
      }
      await response.body?.cancel();
      at = redirected(at, response);
    }
    throw new Refusal(`redirects more than ${limits.redirects} times`, 'Name the document itself.');
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(`cannot be fetched: ${mask(reasonOf(error, signal))}`, 'Try again, or keep a copy of it.');
  }
}

function redirected(from: string, response: Response): string {
  const location = response.headers.get('location');
  const url = location === null ? null : URL.parse(location, from);
  if (url === null) throw new Refusal(`answers ${response.status} without saying where to go`, 'Keep a copy of it.');
  const isWeaker = from.startsWith('https:') && url.protocol !== 'https:';
  if (!isOnTheWeb(url.href) || isWeaker) {
    throw new Refusal(`redirects to ${url.protocol}, where it is not followed`, 'Keep a copy of it.');
  }
  url.hash = '';
  return url.href;
}

async function bodyOf(response: Response, maxBytes: number): Promise<Uint8Array> {
  if (!response.ok) {
    await response.body?.cancel();
    throw new Refusal(`is answered with ${response.status}`, 'Correct the URL, or keep a copy of it.');
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) throw tooLarge(length, maxBytes);
  }
  return Buffer.concat(chunks);
}

function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'there was no answer in time';
  if (!(error instanceof Error)) return 'for an unknown reason';
  const { cause } = error;
  if (cause instanceof Error && 'code' in cause) return String(cause.code);
  return cause instanceof Error ? cause.message : error.message;
}
