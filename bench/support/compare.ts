import type { Options } from '../options.ts';
import type { Goal, Table } from '../report/results.ts';
import { type Load, type LoadReport, runLoad } from './load.ts';
import { cpuSeconds } from './proc.ts';
import { measureRounds } from './rounds.ts';
import type { ProxySet, RunningProxy } from './runningProxies.ts';
import { connections } from './workload.ts';

/** The load that every proxy receives. */
export interface SameLoad extends Omit<Load, 'url' | 'seconds' | 'connections'> {
  readonly target: string;
  readonly isSecure?: boolean;
}

export interface Comparison {
  readonly cpu: Table;
  readonly perSecond: Table;
  readonly notes: readonly string[];
}

/** Measures the CPU time per request under a load with `connections` keep-alive connections. */
export async function comparePerRequest(
  set: ProxySet,
  load: SameLoad,
  options: Options,
  goals: readonly Goal[] = [],
): Promise<Comparison> {
  const { target, isSecure, ...otherSettings } = load;
  const url = (port: number) => `${isSecure ? 'https' : 'http'}://127.0.0.1:${port}${target}`;
  const send = ({ port }: RunningProxy, seconds: number) =>
    runLoad({ ...otherSettings, url: url(port), connections, seconds });
  return compareCpu(set, send, options, goals);
}

/** Measures the CPU time per request while `send` loads a proxy for some seconds. */
export async function compareCpu(
  { running, notes }: ProxySet,
  send: (proxy: RunningProxy, seconds: number) => Promise<Pick<LoadReport, 'requests' | 'seconds' | 'errors'>>,
  { rounds, seconds, quick }: Options,
  goals: readonly Goal[],
): Promise<Comparison> {
  const errorsByProxy = new Map<string, number>();
  const warmUp = (proxy: RunningProxy) => send(proxy, quick ? 1 : 2);
  const measure = async (proxy: RunningProxy) => {
    const secondsBefore = cpuSeconds(proxy.child.pid);
    const report = await send(proxy, seconds);
    errorsByProxy.set(proxy.name, (errorsByProxy.get(proxy.name) ?? 0) + report.errors);
    return {
      cpuMicros: ((cpuSeconds(proxy.child.pid) - secondsBefore) * 1e6) / report.requests,
      perSecond: report.requests / report.seconds,
    };
  };
  const samples = await measureRounds(running, rounds, measure, warmUp);
  return {
    cpu: { figure: 'CPU time per request, µs', digits: 1, rows: samples.rows('cpuMicros'), goals },
    perSecond: {
      figure: 'requests per second (more is better)',
      digits: 0,
      rows: samples.rows('perSecond'),
      goals: [],
    },
    notes: [...notes, ...samples.notes, ...errorNotes(errorsByProxy)],
  };
}

/** A note for each proxy with failed requests, because its figures are not comparable. */
export function errorNotes(errorsByProxy: ReadonlyMap<string, number>): string[] {
  return [...errorsByProxy]
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name}: ${count} requests FAILED.`);
}
