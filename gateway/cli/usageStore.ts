import { printable } from '../config/fault.ts';
import { LedgerReader } from '../usage/ledger/reader.ts';
import { type UsageReport, usageReport } from '../usage/report/usageReport.ts';
import type { UsageQueries } from '../usage/usageQueries.ts';
import { UnansweredError } from './admin.ts';
import type { UsageOptions } from './usage.ts';

/** The report from a ledger that is read directly, at `now` (epoch ms). @throws UnansweredError */
export function reportFrom(
  file: string,
  version: string | undefined,
  { by, since, names }: Pick<UsageOptions, 'by' | 'since' | 'names'>,
  now: number,
): UsageReport {
  const ledger = opened(file, names);
  try {
    const report = usageReport(ledger, {
      by: by ?? (version === undefined ? 'version' : 'client'),
      version,
      since: Math.max(0, now - since.ms),
      until: now,
      step: 'day',
      successor: nextIn(ledger),
    });
    // Rows that could not be read would look as if nobody had called.
    if (report.problem !== null) throw unreadable(file, report.problem);
    if (names !== undefined && report.problems[0] !== undefined)
      throw new UnansweredError(printable(report.problems[0]));
    return report;
  } finally {
    ledger.close();
  }
}

function opened(file: string, names: string | undefined): LedgerReader {
  try {
    return LedgerReader.open(file, names);
  } catch (error) {
    throw unreadable(file, error instanceof Error ? error.message : String(error));
  }
}

/** Without a routes.yaml the next higher major that is in the ledger is the successor. */
function nextIn(ledger: UsageQueries): (version: string) => string | undefined {
  const majors = ledger
    .totals(0)
    .filter(({ version }) => /^v\d+$/.test(version))
    .map(({ version }) => Number(version.slice(1)))
    .sort((a, b) => a - b);
  return (version) => {
    if (version === '') return undefined;
    const next = majors.find((major) => major > Number(version.slice(1)));
    return next === undefined ? undefined : `v${next}`;
  };
}

function unreadable(file: string, reason: string): UnansweredError {
  const remedy = 'Name the usage.store of a gateway.';
  return new UnansweredError(
    printable(`${file} cannot be read as a usage ledger: ${reason.replace(/\.$/, '')}.  ${remedy}`),
  );
}
