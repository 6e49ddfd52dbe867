import { once } from 'node:events';

/** The next SIGINT or SIGTERM. */
export async function stopSignal(): Promise<void> {
  const abort = new AbortController();
  await Promise.race(['SIGINT', 'SIGTERM'].map((name) => once(process, name, { signal: abort.signal })));
  abort.abort();
}
