import { Processes } from '../observability/processes.ts';
import { addUp, afterwards, type ServingReport } from '../observability/report.ts';

/** What the workers have said of themselves, those that are gone included. */
export class Records {
  readonly #processes = new Processes();
  // What those who are gone have served.
  #past: ServingReport = { versions: [], workers: [] };

  /** The last words of one that is about to end. */
  close(last: ServingReport): void {
    this.#note(last);
    this.#past = afterwards(addUp([last, this.#past]));
  }

  /** The report of all workers; `metrics`: with all that was ever counted. */
  async sum(reports: readonly Promise<ServingReport | undefined>[], metrics: boolean): Promise<ServingReport> {
    const answers = await Promise.all(
      reports.map(async (asked) => {
        const report = await asked;
        return report ? [this.#note(report)] : [];
      }),
    );
    const sum = addUp([...answers.flat(), this.#past]);
    this.#past = afterwards(sum);
    if (!metrics) return sum;
    // A worker that does not answer is present, but without metrics: those of its last answer count.
    return { ...sum, absent: await this.#processes.absent(sum.workers.filter((worker) => worker.metrics)) };
  }

  /** As it arrives: a worker's last words must not be followed by earlier ones. */
  #note(report: ServingReport): ServingReport {
    this.#processes.note(report.workers);
    return report;
  }
}
