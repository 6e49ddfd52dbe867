import { maskUserinfo } from '../../../shared/text.ts';
import { isWebUrl, SourceError, tooLarge } from './source.ts';

export interface WebLimits {
  readonly documents: number;
  /** The limit of one document. */
  readonly maxBytes: number;
  readonly totalBytes: number;
  readonly redirects: number;
  /** For one document with all its redirects. */
  readonly documentMs: number;
  readonly totalMs: number;
}

export function defaultWebLimits(maxBytes: number): WebLimits {
  return {
    // Published contracts usually consist of far fewer files.
    documents: 200,
    maxBytes,
    totalBytes: maxBytes,
    redirects: 5,
    documentMs: 10_000,
    totalMs: 30_000,
  };
}

/** Fetches one document and follows redirects. The returned URL is the last one. @throws SourceError */
export async function fetchDocument(
  url: string,
  limits: WebLimits,
  deadline: AbortSignal,
): Promise<{ readonly bytes: Uint8Array; readonly url: string }> {
  const signal = AbortSignal.any([AbortSignal.timeout(limits.documentMs), deadline]);
  const headers = { accept: 'application/json, application/yaml, */*;q=0.5' };
  try {
    let at = url;
    for (let redirects = 0; redirects <= limits.redirects; redirects += 1) {
      const response = await fetch(at, { redirect: 'manual', signal, headers });
      if (response.status < 300 || response.status >= 400) {
        return { bytes: await readBody(response, limits.maxBytes), url: at };
      }
      await response.body?.cancel();
      at = redirectTarget(at, response);
    }
    throw new SourceError(`redirects more than ${limits.redirects} times`, 'Name the document itself.');
  } catch (error) {
    if (error instanceof SourceError) throw error;
    throw new SourceError(
      `cannot be fetched: ${maskUserinfo(fetchErrorReason(error, signal))}`,
      'Try again, or keep a local copy.',
    );
  }
}

function redirectTarget(from: string, response: Response): string {
  const location = response.headers.get('location');
  const url = location === null ? null : URL.parse(location, from);
  if (url === null) {
    throw new SourceError(`returns ${response.status} without a valid Location`, 'Keep a local copy.');
  }
  const isDowngrade = from.startsWith('https:') && url.protocol !== 'https:';
  if (!isWebUrl(url.href) || isDowngrade) {
    throw new SourceError(`redirects to ${url.protocol}, which is not followed`, 'Keep a local copy.');
  }
  url.hash = '';
  return url.href;
}

async function readBody(response: Response, maxBytes: number): Promise<Uint8Array> {
  if (!response.ok) {
    await response.body?.cancel();
    throw new SourceError(`returns ${response.status}`, 'Correct the URL, or keep a local copy.');
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

function fetchErrorReason(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'the request timed out';
  if (!(error instanceof Error)) return 'unknown error';
  const { cause } = error;
  if (cause instanceof Error && 'code' in cause) return String(cause.code);
  return cause instanceof Error ? cause.message : error.message;
}
