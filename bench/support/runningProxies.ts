import type { Contender } from '../proxies/contender.ts';
import { type Child, startServer, temporaryFolder } from './children.ts';
import { freePort } from './ports.ts';
import { progress } from './progress.ts';

/** A proxy that runs and gives the right answer. */
export interface Entrant {
  readonly proxy: Contender;
  readonly port: number;
  readonly child: Child;
}

/** Why a proxy was left out of a measurement. */
export interface Absence {
  readonly proxy: Contender;
  readonly reason: string;
}

export interface Lineup {
  readonly entrants: readonly Entrant[];
  readonly absent: readonly Absence[];
  stop(): Promise<void>;
}

/** Those that `--only` asks for. */
export function chosen(proxies: readonly Contender[], only: readonly string[]): readonly Contender[] {
  return proxies.filter(({ name }) => only.length === 0 || only.some((part) => name.toLowerCase().includes(part)));
}

/** Starts them all; `examine` gives the reason to leave one out, or undefined. An idle one costs its core nothing. */
export async function lineUp(
  proxies: readonly Contender[],
  backendPort: number,
  examine: (port: number) => Promise<string | undefined>,
): Promise<Lineup> {
  const entrants: Entrant[] = [];
  const absent: Absence[] = [];
  for (const proxy of proxies) {
    const entrant = proxy.version === undefined ? 'not installed' : await tryStart(proxy, backendPort, examine);
    if (typeof entrant !== 'string') {
      entrants.push(entrant);
      continue;
    }
    if (proxy.required) throw new Error(`${proxy.name}: ${entrant}`);
    absent.push({ proxy, reason: entrant });
    progress(`${proxy.name} is left out: ${entrant}`);
  }
  const stop = async () => {
    await Promise.all(entrants.map(({ child }) => child.stop()));
  };
  return { entrants, absent, stop };
}

async function tryStart(
  proxy: Contender,
  backendPort: number,
  examine: (port: number) => Promise<string | undefined>,
): Promise<Entrant | string> {
  const port = await freePort();
  try {
    const command = proxy.command({ port, backendPort, folder: temporaryFolder() });
    const child = await startServer(command, port, 'proxy');
    const reason = await examine(port).catch(String);
    if (reason === undefined) return { proxy, port, child };
    await child.stop();
    return `gives another answer (${reason})`;
  } catch (error) {
    return firstComplaint(String(error));
  }
}

/** Of all that a program wrote before it ended, the line that says why. */
function firstComplaint(words: string): string {
  const lines = words.split('\n');
  return lines.find((line, index) => index > 0 && /error|emerg|alert/i.test(line)) ?? lines[0] ?? '';
}
