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

  /** The report of the whole crew, without those who do not answer; `metrics`: with all that was ever counted. */
  async sum(reports: readonly Promise<ServingReport>[], metrics: boolean): Promise<ServingReport> {
    const answers = await Promise.allSettled(reports.map(async (report) => this.#note(await report)));
    const present = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const sum = addUp([...present, this.#past]);
    this.#past = afterwards(sum);
    return metrics ? { ...sum, absent: await this.#processes.absent(sum.workers) } : sum;
  }

  /** As it arrives: a worker's last words must not be followed by earlier ones. */
  #note(report: ServingReport): ServingReport {
    this.#processes.note(report.workers);
    return report;
  }
}
