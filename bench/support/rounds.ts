import type { Row } from '../report/results.ts';
import { progress } from './progress.ts';

/** The figures of each proxy, one sample per round, in the order of the proxies. */
export interface Samples<Figure extends string> {
  /** The row of each proxy for one figure. */
  rows(figure: Figure): Row[];
  /** Proxies that failed. */
  readonly notes: readonly string[];
}

interface ProxyToMeasure {
  readonly name: string;
  readonly required?: boolean | undefined;
}

/**
 * With `warmUp`, warms all proxies up first. Then every round measures all of them, so that a slow minute of the machine affects
 * all. If a proxy fails, the other proxies are still measured.
 * @throws the error of a required proxy.
 */
export async function measureRounds<Proxy extends ProxyToMeasure, Figure extends string>(
  proxies: readonly Proxy[],
  rounds: number,
  measure: (proxy: Proxy) => Promise<Readonly<Record<Figure, number>>>,
  warmUp?: (proxy: Proxy) => Promise<unknown>,
): Promise<Samples<Figure>> {
  const samplesByProxy = new Map<Proxy, Readonly<Record<Figure, number>>[]>(proxies.map((proxy) => [proxy, []]));
  const notes: string[] = [];
  for (let round = warmUp ? 0 : 1; round <= rounds; round++) {
    for (const [proxy, samples] of samplesByProxy) {
      try {
        if (round === 0) {
          await warmUp?.(proxy);
          continue;
        }
        const sample = await measure(proxy);
        if (!Object.values<number>(sample).every(Number.isFinite)) throw new Error('no request was answered');
        samples.push(sample);
        const figures = Object.entries<number>(sample).map(([figure, value]) => `${figure} ${value.toPrecision(4)}`);
        progress(`round ${round}/${rounds}  ${proxy.name}: ${figures.join(', ')}`);
      } catch (error) {
        if (proxy.required) throw error;
        samplesByProxy.delete(proxy);
        const [reason = ''] = String(error).split('\n');
        notes.push(`${proxy.name} is not measured: ${reason}.`);
        progress(notes.at(-1) ?? '');
      }
    }
  }
  const rows = (figure: Figure): Row[] =>
    [...samplesByProxy].map(([{ name }, samples]) => ({
      name,
      samples: samples.map((sample) => Number(sample[figure].toPrecision(6))),
    }));
  return { rows, notes };
}
