import { decodedBody } from '../../shared/contentCoding.ts';
import { type HttpAnswer, type HttpClient, HttpFailure, type Networks } from '../../shared/httpClient.ts';
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
  readonly networks: Networks;
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
    networks: 'any',
  };
}

/** Fetches one document and follows redirects. The returned URL is the last one. @throws SourceError */
export async function fetchDocument(
  url: string,
  limits: WebLimits,
  deadline: AbortSignal,
  client: HttpClient,
): Promise<{ readonly bytes: Uint8Array; readonly url: string }> {
  const signal = AbortSignal.any([AbortSignal.timeout(limits.documentMs), deadline]);
  const headers = { accept: 'application/json, application/yaml, */*;q=0.5', 'accept-encoding': 'gzip, deflate, br' };
  try {
    let at = url;
    for (let redirects = 0; redirects <= limits.redirects; redirects += 1) {
      const answer = await client.request(at, { headers, signal, deadlineMs: limits.documentMs });
      if (answer.status < 300 || answer.status >= 400)
        return { bytes: await readBody(answer, limits.maxBytes), url: at };
      await answer.discard();
      at = redirectTarget(at, answer);
    }
    throw new SourceError(`redirects more than ${limits.redirects} times`, 'Name the document itself.');
  } catch (error) {
    if (!(error instanceof HttpFailure)) throw error;
    const reason = signal.aborted ? 'the request timed out' : error.message;
    const remedy =
      error.kind === 'refused'
        ? 'Allow it with --remote-networks any, or keep a local copy.'
        : 'Try again, or keep a local copy.';
    throw new SourceError(`cannot be fetched: ${reason}`, remedy);
  }
}

function redirectTarget(from: string, answer: HttpAnswer): string {
  const location = answer.header('location');
  const url = location === undefined ? null : URL.parse(location, from);
  if (url === null) {
    throw new SourceError(`returns ${answer.status} without a valid Location`, 'Keep a local copy.');
  }
  const isDowngrade = from.startsWith('https:') && url.protocol !== 'https:';
  if (!isWebUrl(url.href) || isDowngrade) {
    throw new SourceError(`redirects to ${url.protocol}, which is not followed`, 'Keep a local copy.');
  }
  url.hash = '';
  return url.href;
}

async function readBody(answer: HttpAnswer, maxBytes: number): Promise<Uint8Array> {
  if (!answer.isOk) {
    await answer.discard();
    throw new SourceError(`returns ${answer.status}`, 'Correct the URL, or keep a local copy.');
  }
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of answer.parts()) {
    parts.push(part);
    length += part.length;
    if (length > maxBytes) throw tooLarge(length, maxBytes);
  }
  const bytes = await decodedBody(Buffer.concat(parts), answer.header('content-encoding'), maxBytes);
  if (bytes === 'body') throw tooLarge(maxBytes + 1, maxBytes);
  if (bytes === 'coding') throw new SourceError('has an unknown or wrong content coding', 'Keep a local copy.');
  return bytes;
}
