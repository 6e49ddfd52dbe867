import { Option } from 'commander';
import type { VerdictJson } from '../retirement/verdictJson.ts';
import { adminAt, isRecord, stranger } from './admin.ts';
import { addTargetOptions, type TargetOptions, targetOf } from './adminTarget.ts';
import { verdictAsMarkdown } from './canRetireMarkdown.ts';
import { verdictAsText } from './canRetireText.ts';
import type { AddCommand } from './command.ts';
import type { ExitCode, Io } from './io.ts';
import { painter } from './paint.ts';
import { type Period, periodArgument } from './periodArgument.ts';
import { printedJson } from './printedJson.ts';
import { widthOf } from './table.ts';
import { versionArgument } from './versionArgument.ts';

interface CanRetireOptions extends TargetOptions {
  readonly format: 'text' | 'json' | 'markdown';
  readonly quiet?: Period;
}

export const addCanRetire: AddCommand = (program, io, finish) => {
  addTargetOptions(program.command('can-retire'))
    .description(
      'Say whether a version may be retired, and who still calls it; exits 0 only for yes. The running gateway is asked: a ledger alone does not know what is in flight.',
    )
    .argument('<version>', 'the version, such as /v1', versionArgument)
    .option('--quiet <duration>', 'how long nobody may have called (default: retire.quiet)', periodArgument)
    .addOption(
      new Option('--format <format>', 'how to print the result').choices(['text', 'json', 'markdown']).default('text'),
    )
    .action(async (version: string, options: CanRetireOptions) => finish(await canRetire(version, options, io)));
};

/** @throws UnansweredError */
async function canRetire(version: string, options: CanRetireOptions, io: Io): Promise<ExitCode> {
  const { format, quiet } = options;
  const target = targetOf(options, io);
  const query = quiet === undefined ? '' : `?quiet=${encodeURIComponent(quiet.text)}`;
  const verdict = await adminAt(target).get(`/api/versions/${version}/retirement${query}`);
  if (!isVerdict(verdict)) throw stranger(target.name);
  if (format === 'json') io.stdout.write(printedJson(verdict));
  else if (format === 'markdown') io.stdout.write(verdictAsMarkdown(verdict));
  else io.stdout.write(verdictAsText(verdict, painter(io.stdout, io.env), widthOf(io.stdout)));
  return verdict.answer === 'yes' ? 0 : 1;
}

// Enough to tell a gateway from anything else that answers there; the rest is of one making with this program.
function isVerdict(answer: unknown): answer is VerdictJson {
  if (!isRecord(answer)) return false;
  const { answer: word, reasons, notes, facts } = answer;
  if (word !== 'yes' && word !== 'not yet' && word !== 'no') return false;
  return Array.isArray(reasons) && Array.isArray(notes) && isRecord(facts) && Array.isArray(facts['clients']);
}
