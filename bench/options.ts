import { parseArgs } from 'node:util';

export interface Options {
  readonly rounds: number;
  /** The length of most measurements. */
  readonly seconds: number;
  readonly quick: boolean;
  /** Parts of proxy names, lower case; empty: all of them. */
  readonly onlyProxies: readonly string[];
  /** Undefined: the default scenarios. */
  readonly scenarios: readonly string[] | undefined;
}

export const help = `node bench/run.ts [options]
  --rounds N          rounds over all proxies (default 5; with --quick 1)
  --seconds N         length of most measurements (default 3; with --quick 1)
  --only a,b          only proxies whose name contains a or b
  --scenarios a,b     only these scenarios: small-json, varied, access-log, post, tls, handshakes, h2, bodies, latency,
                      connections, start, routes, syscalls, scavenges, instructions, fast-lane, features, export, restrictions,
                      shadow, adapter, soak-rss
  --features          the same as --scenarios features
  --quick             measures a few scenarios, each for a short time; prints the tables and writes no file
`;

export function readOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      only: { type: 'string', default: '' },
      scenarios: { type: 'string' },
      features: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const { quick } = values;
  const scenarios = values.features ? 'features' : values.scenarios;
  return {
    quick,
    rounds: positive('rounds', values.rounds ?? (quick ? '1' : '5')),
    seconds: positive('seconds', values.seconds ?? (quick ? '1' : '3')),
    onlyProxies: list(values.only.toLowerCase()),
    scenarios: scenarios === undefined ? undefined : list(scenarios),
  };
}

function list(text: string): string[] {
  return text.split(',').filter((word) => word !== '');
}

function positive(name: string, text: string): number {
  const value = Number(text);
  // wrk accepts only whole seconds.
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} takes a whole number above 0, not ${text}`);
  return value;
}
