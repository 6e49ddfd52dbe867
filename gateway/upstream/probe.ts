import type { Endpoint } from '../http1/socket.ts';

export interface ProbeResult {
  readonly good: boolean;
  /** A connection stood, whatever came of it. */
  readonly connected: boolean;
  /** Why it is not good, for people. */
  readonly cause: string | undefined;
}

/** Whom to probe, and how. */
export interface Probed {
  readonly url: string;
  readonly authority: string;
  readonly probedEndpoint: Endpoint;
}

/**
 * Asks a target for `path` on a connection of its own, so that an exhausted backlog shows; `timeout` ms bound all of it.
 * Good is any 2xx or 3xx, which is not followed; the body is of no interest. Never rejects.
 */
export async function probe(target: Probed, path: string, timeout: number, stop: AbortSignal): Promise<ProbeResult> {
  // Most gateways never probe: they need not load it.
  const { Client } = await import('undici');
  const { tls, port, lookup } = target.probedEndpoint;
  const client = new Client(target.url, {
    allowH2: false,
    pipelining: 0,
    connect: { ...tls, port, ...(lookup && { lookup, autoSelectFamily: true }), timeout },
  });
  let connected = false;
  client.on('connect', () => {
    connected = true;
  });
  try {
    const { statusCode } = await client.request({
      method: 'GET',
      path,
      headers: { host: target.authority, 'user-agent': 'version-gateway-health' },
      signal: AbortSignal.any([stop, AbortSignal.timeout(timeout)]),
    });
    const good = statusCode >= 200 && statusCode < 400;
    return { good, connected, cause: good ? undefined : `the probe was answered ${statusCode}` };
  } catch (error) {
    return { good: false, connected, cause: causeOf(error as NodeJS.ErrnoException, timeout) };
  } finally {
    void client.destroy();
  }
}

function causeOf({ name, message, code }: NodeJS.ErrnoException, timeout: number): string {
  if (name === 'TimeoutError') return `the probe was not answered within ${timeout} ms`;
  // Of several addresses that all refuse there is a code, and no message.
  return `the probe failed: ${message || code}`;
}
