import type { Stage } from '../lifecycle/stage.ts';
import { Buckets } from './buckets.ts';
import type { ExchangeRecord } from './exchangeRecord.ts';
import type { Sample } from './exposition.ts';

const stages: readonly (Stage | 'unknown')[] = ['active', 'announced', 'deprecated', 'sunset', 'retired', 'unknown'];
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'];
const classes = ['1xx', '2xx', '3xx', '4xx', '5xx'];

const stageAt = new Map(stages.map((stage, at) => [stage, at]));
const methodAt = new Map(methods.map((method, at) => [method, at]));

/** What is counted of one version. A request costs a few additions here; labels are put on when somebody asks. */
export class VersionCounts {
  readonly duration = new Buckets();
  readonly upstream = new Buckets();
  readonly failures = { client: 0, gateway: 0, target: 0 };
  readonly problems = new Map<string, number>();
  bytesIn = 0;
  bytesOut = 0;
  retries = 0;
  upgrades = 0;
  // By stage, method and class in one table, so that nothing has to be made of the three.
  readonly #requests = new Float64Array(stages.length * methods.length * classes.length);

  add(facts: ExchangeRecord): void {
    const { status, upstream, fault, problem, streamed } = facts;
    const at = placeOf(facts);
    this.#requests[at] = (this.#requests[at] as number) + 1;
    // How long a tunnel or a stream of events is open says nothing about how long a request takes.
    if (status === 101) this.upgrades -= 1;
    else if (!streamed) this.duration.add(facts.duration);
    if (upstream !== undefined) this.upstream.add(upstream);
    this.bytesIn += facts.bytesIn;
    this.bytesOut += facts.bytesOut;
    this.retries += facts.retries;
    if (fault !== undefined) this.failures[fault] += 1;
    if (problem !== undefined) this.problems.set(problem, (this.problems.get(problem) ?? 0) + 1);
  }

  /** By stage, method and class; those that never occurred are left out. */
  requests(version: string): Sample[] {
    const samples: Sample[] = [];
    for (const [at, value] of this.#requests.entries()) {
      if (value === 0) continue;
      const row = Math.floor(at / classes.length);
      const labels = {
        version,
        stage: stages[Math.floor(row / methods.length)] ?? '',
        method: methods[row % methods.length] ?? '',
        class: classes[at % classes.length] ?? '',
      };
      samples.push({ labels, value });
    }
    return samples;
  }
}

function placeOf({ stage, method, status }: ExchangeRecord): number {
  const row =
    (stageAt.get(stage ?? 'unknown') as number) * methods.length + (methodAt.get(method) ?? methods.length - 1);
  return row * classes.length + Math.min(classes.length, Math.max(1, Math.floor(status / 100))) - 1;
}
