import { fileURLToPath } from 'node:url';
import { runToEnd } from './children.ts';
import { programVersion } from './versions.ts';

export interface Load {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** The bytes in the body of each POST. With 0, the default, GET requests are sent. */
  readonly bodyBytes?: number;
  /** Only with wrk: how many different clients send the requests, and to how many different routes below the URL. */
  readonly mix?: { readonly clients: number; readonly routes: number };
  /** Only with wrk: the requests per second. Default: as many as possible. */
  readonly rate?: number;
}

/** `p50` and `p99` are latencies in ms; `bytes` are received bytes. */
export interface LoadReport {
  readonly requests: number;
  readonly seconds: number;
  readonly bytes: number;
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
}

const wrk = programVersion('wrk', ['-v']);
export const generator = wrk ? `wrk ${wrk}` : 'bench/support/loadClient.ts';

/** Sends requests on every connection for `seconds`, one at a time. */
export async function runLoad({ url, connections, seconds, bodyBytes = 0, mix, rate = 0 }: Load): Promise<LoadReport> {
  const env = {
    BODY_BYTES: String(bodyBytes),
    RATE: String(rate),
    ...(mix && { CLIENTS: String(mix.clients), ROUTES: String(mix.routes) }),
  };
  const command = wrk
    ? {
        program: 'wrk',
        args: ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', file('wrk.lua'), '--latency', url],
        env,
      }
    : { program: process.execPath, args: [file('loadClient.ts'), url, String(connections), String(seconds)], env };
  const written = await runToEnd(command, 'onGeneratorCores');
  const report: LoadReport = JSON.parse(written.slice(written.lastIndexOf('\n{')));
  return report;
}

/** Runs h2load, and counts its requests. @throws if h2load uses another protocol than `protocol`. */
export async function runH2load(
  url: string,
  protocol: 'h2' | 'h2c' | 'http/1.1',
  args: readonly string[],
): Promise<Pick<LoadReport, 'requests' | 'seconds' | 'errors'>> {
  const written = await runToEnd({ program: 'h2load', args: ['-N', '10s', ...args, url] }, 'onGeneratorCores');
  const matchIn = (pattern: RegExp) => pattern.exec(written)?.[1];
  const usedProtocol = matchIn(/^Application protocol: (\S+)/m);
  if (usedProtocol !== protocol) throw new Error(`h2load uses ${usedProtocol ?? 'no protocol'}, not ${protocol}`);
  const [requests, succeeded] = [Number(matchIn(/ (\d+) done,/)), Number(matchIn(/ (\d+) 2xx,/))];
  const [, amount, unit] = /^finished in ([\d.]+)(m?s)/m.exec(written) ?? [];
  return { requests, seconds: Number(amount) / (unit === 'ms' ? 1000 : 1), errors: requests - succeeded };
}

function file(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
