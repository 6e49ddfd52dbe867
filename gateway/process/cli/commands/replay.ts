import { resolve } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import { UnreadableFileError } from '../../../config/fault.ts';
import { decodeIfUtf8 } from '../../../config/location.ts';
import { digestOf } from '../../../config/referencedFiles.ts';
import type { Snapshot } from '../../../config/snapshot.ts';
import type { Documents } from '../../../contract/document/documents.ts';
import { openContract } from '../../../contract/document/open.ts';
import { CompareError } from '../../../contract/failure.ts';
import {
  type ReplayOptions,
  type ReplaySide,
  replay,
  type SilentSide,
} from '../../../contracts/shadow/replay/replay.ts';
import { replayAsSarif, replayReport } from '../../../contracts/shadow/replay/replayReport.ts';
import {
  type HeaderField,
  ReplayedContract,
  type ReplayedVersions,
} from '../../../contracts/shadow/replay/replayRequests.ts';
import { parseRequestFile } from '../../../contracts/shadow/replay/requestFile.ts';
import { chainBetween } from '../../../contracts/shadow/sampling/copyPlan.ts';
import { fieldFault, type RequestFile } from '../../../contracts/shadow/sampling/requestFormat.ts';
import { systemClock } from '../../../shared/clock.ts';
import { readRegularFile } from '../../../shared/fileSystem.ts';
import { printable } from '../../../shared/text.ts';
import { pathThroughChain } from '../../../versions/lifecycle/stage.ts';
import { type AddCommand, type ExitCode, type Io, UsageError } from '../io.ts';
import { formatOption, snapshotOf } from '../options.ts';
import { failureInWords, workingTreeAt } from '../output/comparison.ts';
import { replayDocument } from '../output/shadowText.ts';
import { printedJson, printReport } from '../output/terminal.ts';

interface CommandOptions {
  readonly v1: string;
  readonly v2: string;
  readonly failOn: 'undeclared' | 'none';
  readonly format: 'text' | 'json' | 'sarif';
  readonly rate: number;
  readonly repeat?: number;
  readonly contractV1?: string;
  readonly contractV2?: string;
  readonly config?: string;
  readonly header?: readonly string[];
}

// The same as the defaults of a shadow. `timeout`: ms. `body`: bytes.
const limits = { timeout: 5_000, body: 256 * 1024 };

export const addReplay: AddCommand = (program, io, finish) => {
  program
    .command('replay')
    .description('Send the requests of a file to two versions, and report how the responses differ. Needs no gateway.')
    .argument('<file>', 'the requests, as `shadow export` writes them; - for standard input')
    .requiredOption('--v1 <url>', 'URL of the old version, such as http://127.0.0.1:3001 or https://example.com/v1')
    .requiredOption('--v2 <url>', 'URL of the new version')
    .addOption(
      new Option('--fail-on <class>', 'exit with 1 if there is a difference of this class')
        .choices(['undeclared', 'none'])
        .default('undeclared'),
    )
    .addOption(formatOption(['text', 'json', 'sarif']))
    .option('--contract-v1 <file>', 'OpenAPI contract of the old version')
    .option('--contract-v2 <file>', 'OpenAPI contract of the new version')
    .option(
      '--config <file>',
      'routes.yaml that names the contracts and `moved`, instead of --contract-v1 and --contract-v2',
    )
    .option('--header <field>', 'header field to send with each request, "Name: value"; can be repeated', collectField)
    .option('--rate <n>', 'pairs of requests per second', rateArgument, 100)
    .option(
      '--repeat <n>',
      'how often each request is sent (default: once; several times if its route has fewer than 40 requests)',
      repeatArgument,
    )
    .action(async (file: string, options: CommandOptions) =>
      finish(await run(file, options, io, program.version() ?? '')),
    );
};

async function run(requestFile: string, options: CommandOptions, io: Io, release: string): Promise<ExitCode> {
  try {
    return await replayFile(requestFile, options, io, release);
  } catch (error) {
    io.stderr.write(`${failureInWords(error)}\nNothing was compared.\n`);
    return 2;
  }
}

/** @throws CompareError, UsageError, UnreadableFileError */
async function replayFile(requestFile: string, options: CommandOptions, io: Io, release: string): Promise<ExitCode> {
  const text = await textOf(requestFile, io);
  const shownName = requestFile === '-' ? 'standard input' : printable(requestFile);
  const { file, requests } = parseRequestFile(text, shownName, systemClock.now());
  const { version = 'v1', to = 'v2' } = file;
  const { notes, ...versions } = await versionsFor(file, { version, to }, options, io);
  const replayOptions: ReplayOptions = {
    old: { version, url: urlOf('--v1', options.v1) },
    new: { version: to, url: urlOf('--v2', options.v2) },
    versions,
    requests,
    fields: (options.header ?? []).map(fieldOf),
    rate: options.rate,
    repeat: options.repeat,
    limits,
    notes,
  };
  const outcome = await replay(replayOptions);
  if ('side' in outcome) throw noAnswerError(outcome, replayOptions[outcome.side]);
  const report = replayReport(replayOptions, outcome);
  const { format } = options;
  if (format !== 'sarif') printReport(report, replayDocument, { format, endpoint: undefined, io });
  else {
    const place = { release, file: requestFile, ...workingTreeAt(io.cwd) };
    io.stdout.write(printedJson(replayAsSarif(report, replayOptions, place)));
  }
  if (report.counts.undeclared > 0 && options.failOn === 'undeclared') return 1;
  // A check that compared nothing must not pass.
  const problem =
    report.pairs === 0 && report.known
      ? 'Nothing was compared.'
      : !report.has_success
        ? `/${version} answered every request with an error, so no successful response was compared.  Check --v1 and --header.`
        : report.is_complete
          ? undefined
          : 'Not all requests were sent.';
  if (problem !== undefined) {
    io.stderr.write(`${problem}\n`);
    return 2;
  }
  const isAccepted = options.failOn === 'none' && report.pairs > 0;
  return report.known || isAccepted ? 0 : 3;
}

/** @throws CompareError, UsageError, UnreadableFileError */
async function versionsFor(
  file: RequestFile,
  { version, to }: { readonly version: string; readonly to: string },
  options: CommandOptions,
  io: Io,
): Promise<ReplayedVersions & { readonly notes: string[] }> {
  const { config, contractV1, contractV2 } = options;
  if (config !== undefined && (contractV1 ?? contractV2) !== undefined)
    throw new UsageError('--config names the contracts already: omit --contract-v1 and --contract-v2.');
  const snapshot = config === undefined ? undefined : snapshotOf(config, io);
  const [oldVersion, newVersion] = [version, to].map((name) => snapshot && versionIn(snapshot, name, config ?? ''));
  const open = (reference: string | undefined): Promise<Documents> | undefined =>
    reference === undefined ? undefined : openContract(reference, { cwd: io.cwd, stdin: () => '', allowRemote: false });
  const oldContract = await open(contractV1 ?? oldVersion?.contract?.file);
  const newContract = await open(contractV2 ?? newVersion?.contract?.file);
  const notes: string[] = [];
  for (const [name, documents] of [
    [version, oldContract],
    [to, newContract],
  ] as const) {
    const digest = file.contracts?.[name];
    if (documents === undefined) notes.push(`/${name} has no contract, so differences cannot be classified.`);
    else if (typeof digest === 'string' && !digestsOf(documents).includes(digest))
      notes.push(`The contract of /${name} is not the one that the requests were exported with.`);
  }
  const versionChain = snapshot && oldVersion && newVersion && chainBetween(oldVersion, newVersion, snapshot);
  return {
    old: new ReplayedContract(oldContract, version),
    new: new ReplayedContract(newContract, to),
    toNewPath: (path) => (versionChain ? pathThroughChain(versionChain, path) : path),
    notes,
  };
}

/** The digests that the file of a contract may have: a byte order mark at its start is not kept. */
function digestsOf({ root }: Documents): string[] {
  const { text = '' } = root.place.file;
  return [text, `\uFEFF${text}`].map(digestOf);
}

function versionIn({ versions }: Snapshot, name: string, file: string) {
  const version = versions.get(name);
  if (version !== undefined) return version;
  const versionList = [...versions.keys()].map((one) => `/${one}`).join(', ');
  throw new UsageError(
    `${printable(file)} has no /${name}, only ${versionList}.  Set \`version\` and \`to\` in the file of requests to two of these.`,
  );
}

/** @throws UsageError, UnreadableFileError */
async function textOf(name: string, { cwd, stdin }: Io): Promise<string> {
  if (name === '-') return (await stdin?.()) ?? '';
  let bytes: Uint8Array;
  try {
    bytes = readRegularFile(resolve(cwd, name));
  } catch (error) {
    throw new UnreadableFileError(printable(name), error);
  }
  const text = decodeIfUtf8(bytes);
  if (text === undefined) throw new CompareError(printable(name), 'is not UTF-8', 'Convert it to UTF-8.');
  return text;
}

/** The message does not contain the URL, because it may have a password. @throws UsageError */
function urlOf(option: string, text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError(`${option} is not a URL.  Write one such as http://127.0.0.1:3001.`);
  if (url.username !== '' || url.password !== '')
    throw new UsageError(`${option} has a user name or password.  Give it as --header 'Authorization: …'.`);
  if (url.search !== '' || url.hash !== '')
    throw new UsageError(`${option} has a query or a fragment.  Give only the start of the paths.`);
  return url;
}

/** No message contains the text of the option, because it may be a secret. @throws UsageError */
function fieldOf(text: string): HeaderField {
  const colon = text.indexOf(':');
  if (colon < 1) throw new UsageError("A --header has no name.  Write --header 'Name: value'.");
  const [name, value] = [text.slice(0, colon).trim(), text.slice(colon + 1).trim()];
  const fault = fieldFault(name, value);
  if (fault !== undefined) throw new UsageError(`A --header cannot be sent: ${fault}.`);
  return [name, value];
}

const certificateCode = /CERT|ISSUER|SELF_SIGNED|ALTNAME/;

function noAnswerError({ side, reason }: SilentSide, { url, version }: ReplaySide): UsageError {
  const option = side === 'old' ? '--v1' : '--v2';
  const remedy = certificateCode.test(reason)
    ? 'Name a file with the certificate of its authority in NODE_EXTRA_CA_CERTS.'
    : /^(?:EPROTO|ERR_SSL)/.test(reason)
      ? 'It does not speak TLS: write http:// instead of https://.'
      : `Check that /${version} runs there, or correct ${option}.`;
  return new UsageError(`${option} ${url.href} does not answer: ${reason}.  ${remedy}`);
}

function collectField(text: string, collected: readonly string[] = []): readonly string[] {
  return [...collected, text];
}

function rateArgument(text: string): number {
  const rate = Number(text);
  if (!(rate > 0 && rate <= 10_000)) throw new InvalidArgumentError('Write a number above 0 and up to 10000.');
  return rate;
}

function repeatArgument(text: string): number {
  const count = Number(text);
  if (!(Number.isInteger(count) && count >= 1 && count <= 10_000))
    throw new InvalidArgumentError('Write a whole number from 1 to 10000.');
  return count;
}
