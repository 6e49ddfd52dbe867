import type { VerdictJson } from '../../../versions/retirement/verdictJson.ts';
import { askGateway } from '../adminClient.ts';
import type { AddCommand, ExitCode, Io } from '../io.ts';
import {
  addAdminEndpointOptions,
  adminEndpointOf,
  formatOption,
  type NamedSubject,
  type PrintOptions,
  periodArgument,
  subjectArgument,
  type TimeArgument,
} from '../options.ts';
import { printReport } from '../output/terminal.ts';
import { verdictDocument } from '../output/verdictText.ts';

interface CanRetireOptions extends PrintOptions {
  readonly quiet?: TimeArgument;
}

export const addCanRetire: AddCommand = (program, io, finish) => {
  addAdminEndpointOptions(program.command('can-retire'))
    .description(
      'Check whether a version can be retired, or whether a single route can end, and list the clients that still call it. For a retired version, check whether its tombstone can be removed. Exits 0 only if the answer is yes. Requires a running gateway, because the ledger does not contain requests in flight.',
    )
    .argument('<version>', 'version to check, such as /v1, or route such as "GET /v1/drinks"', subjectArgument)
    .option('--quiet <duration>', 'required time without requests (default: retire.quiet)', periodArgument)
    .addOption(formatOption(['text', 'json', 'markdown']))
    .action(async (subject: NamedSubject, options: CanRetireOptions) => finish(await canRetire(subject, options, io)));
};

// `not yet` is 1 even if facts are missing: for now, the answer is no.
const exitCodes: Readonly<Record<VerdictJson['answer'], ExitCode>> = { yes: 0, no: 1, 'not yet': 1, 'not known': 3 };
// In a fleet, a gateway waits for the counts of the other gateways.
const timeoutMs = 30_000;

/** @throws AdminError, UnreadableFileError */
async function canRetire({ version, route }: NamedSubject, options: CanRetireOptions, io: Io): Promise<ExitCode> {
  const { format, quiet } = options;
  const endpoint = adminEndpointOf(options, io);
  const query = { quiet: quiet?.text, route: route && `${route.method} ${route.path}` };
  const verdict = await askGateway(endpoint, 'GET /api/versions/{version}/retirement', { version, query, timeoutMs });
  printReport(verdict, verdictDocument, { format, endpoint, io });
  return exitCodes[verdict.answer];
}
