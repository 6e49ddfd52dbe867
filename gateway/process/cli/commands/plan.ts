import { resolve } from 'node:path';
import { Option } from 'commander';
import { apiOf, withRemovedApis } from '../../../config/api.ts';
import { decodeIfUtf8, readRoutes } from '../../../config/location.ts';
import { systemClock } from '../../../shared/clock.ts';
import type { Document, Section } from '../../../shared/document.ts';
import { rfc3339 } from '../../../shared/instant.ts';
import { ago, plural, printable, withCommas } from '../../../shared/text.ts';
import { isSingleClient } from '../../../usage/usageRow.ts';
import {
  hasLoss,
  type Plan,
  type PlannedClient,
  plannedAnswerNames,
  plannedAnswers,
  withRetired,
} from '../../../versions/plan/plan.ts';
import { planEdit } from '../../../versions/plan/planEdit.ts';
import { clientTable, maxTableRows, routesInWords } from '../../../versions/retirement/words.ts';
import { type AdminEndpoint, askGateway, planTimeoutMs } from '../adminClient.ts';
import { type AddCommand, type ExitCode, type Io, UsageError } from '../io.ts';
import { checkNames, openEvidence, readAndClose, unreadableLedger } from '../ledgerStore.ts';
import {
  addAdminEndpointOptions,
  adminEndpointOf,
  dateArgument,
  defaultConfig,
  formatOption,
  type PrintOptions,
  periodArgument,
  snapshotOf,
  type TimeArgument,
  versionArgument,
} from '../options.ts';
import { printReport } from '../output/terminal.ts';

interface PlanOptions extends PrintOptions {
  readonly since: TimeArgument;
  readonly at?: TimeArgument;
  readonly retire?: string;
  readonly store?: string;
  readonly names?: string;
}

export const addPlan: AddCommand = (program, io, finish) => {
  addAdminEndpointOptions(program.command('plan'))
    .description(
      'Show which clients would lose requests if a routes.yaml were applied. Applies the file to the requests in the usage ledger, and changes nothing. Exits 1 if a client would lose something, and 3 if this is not known, because calls may be missing.',
    )
    .argument('[file]', 'the candidate: a routes.yaml that is not applied yet')
    .addOption(
      new Option(
        '--retire <version>',
        'instead of a file: the running configuration, with this version retired',
      ).argParser(versionArgument),
    )
    .addOption(
      new Option('--since <duration>', 'period of the requests, up to now')
        .argParser(periodArgument)
        .default(periodArgument('7d'), '7d'),
    )
    .addOption(
      new Option('--at <date>', 'instant for which the dates of the candidate are applied (default: now)').argParser(
        dateArgument,
      ),
    )
    .addOption(formatOption(['text', 'json', 'markdown']))
    .addOption(
      new Option(
        '--store <place>',
        'read this ledger instead of asking a gateway: a file, or postgres://… of a fleet; with --retire, the configuration is read from --config',
      ),
    )
    .addOption(
      new Option('--names <file>', 'with --store: file of client names (default: usage.names of the candidate)'),
    )
    .action(async (file: string | undefined, options: PlanOptions) => finish(await plan(file, options, io)));
};

/** @throws UsageError, AdminError, UnreadableFileError */
async function plan(file: string | undefined, options: PlanOptions, io: Io): Promise<ExitCode> {
  const { retire, store, names, format } = options;
  if ((file === undefined) === (retire === undefined))
    throw new UsageError('Give either the routes.yaml to plan for, or --retire with a version such as /v1.');
  checkNames(names, store);
  const endpoint = store === undefined ? adminEndpointOf(options, io) : undefined;
  const result =
    endpoint !== undefined
      ? await planFromGateway(file, options, endpoint, io.cwd)
      : await planFromStore(store ?? '', file, options, io);
  printReport(result, planDocument, { format, endpoint, io });
  if (hasLoss(result)) return 1;
  return result.known ? 0 : 3;
}

/** @throws UsageError, AdminError, UnreadableFileError */
async function planFromGateway(
  file: string | undefined,
  { retire, since, at }: Pick<PlanOptions, 'retire' | 'since' | 'at'>,
  endpoint: AdminEndpoint,
  cwd: string,
): Promise<Plan> {
  const candidate = retire === undefined ? { routes_yaml: textIn(file ?? '', cwd) } : { retire };
  const body = { ...candidate, since: since.text, ...(at && { at: at.text }) };
  const answer = await askGateway(endpoint, 'POST /api/plan', { body, timeoutMs: planTimeoutMs });
  if (!('faults' in answer)) return answer;
  const faults = answer.faults.flatMap((fault) => fault.split('\n').map(printable));
  throw new UsageError([...faults, `The running gateway cannot use ${file}: see version-gateway check.`].join('\n'));
}

/** @throws UsageError for bytes that are not UTF-8, UnreadableFileError */
function textIn(file: string, cwd: string): string {
  const text = decodeIfUtf8(readRoutes(file, cwd));
  if (text === undefined) throw new UsageError(`${printable(file)} is not UTF-8: see version-gateway check.`);
  return text;
}

/** Reads a ledger directly. @throws UsageError, UnreadableFileError */
async function planFromStore(
  store: string,
  file: string | undefined,
  { config, retire, since, at, names }: PlanOptions,
  io: Io,
): Promise<Plan> {
  const loaded = snapshotOf(file ?? config ?? defaultConfig(io.cwd) ?? 'routes.yaml', io);
  const candidate = retire === undefined ? loaded : withRetired(loaded, retire);
  if (candidate === undefined) throw new UsageError(`The configuration has no version /${retire}.`);
  const running = retire === undefined ? undefined : loaded;
  const namesFile = names === undefined ? candidate.usage.names : resolve(io.cwd, names);
  const { ledger, servedVersions, stateOf } = await openEvidence({ store }, io.cwd, namesFile, loaded);
  return readAndClose(ledger, async () => {
    const now = systemClock.now();
    const period = { since: Math.max(0, now - since.ms), now, at: at?.ms ?? now };
    // A gateway that has left may have served a version that the file lacks.
    const recorded = Object.keys((await ledger.answerSettings())?.bodies ?? {});
    const versions = new Set([...loaded.versions.keys(), ...servedVersions, ...recorded]);
    const judged = withRemovedApis(candidate, running, versions);
    const live = stateOf(versions, (version) => Math.max(since.ms, apiOf(version, judged).guard.quiet))?.facts;
    const found = await planEdit(ledger, { candidate, running, ...period, ...(live && { live }) });
    if (found === undefined) throw unreadableLedger(store, ledger.problem ?? '');
    return found;
  });
}

function planDocument(plan: Plan): Document {
  const style = hasLoss(plan) ? 'red' : plan.known ? 'green' : 'yellow';
  return {
    title: headingOf(plan),
    sections: [
      { text: plan.summary, style, lines: plan.notes.map(({ text }) => text) },
      { table: { head: ['version', 'stage', 'answer', 'clients', 'requests', 'lost'], rows: versionRows(plan) } },
      clientSection(plan),
    ],
  };
}

function headingOf({ at, since, until, covered_since: covered }: Plan): string {
  const instant = at === until ? '' : ` as of ${rfc3339(Date.parse(at))}`;
  const coverage =
    covered === null ? 'the ledger is empty' : `recorded without a gap since ${rfc3339(Date.parse(covered))}`;
  return `Plan${instant} for the requests since ${rfc3339(Date.parse(since))} (${coverage})`;
}

function versionRows({ versions }: Plan): string[][] {
  // A scanner may have tried hundreds of versions that never existed.
  const shown = versions.filter(({ stage, lost }) => stage !== 'removed' || lost > 0);
  return shown.map(({ version, stage, answer, clients, requests, lost }) => [
    `/${version}`,
    stage,
    plannedAnswers[answer]?.words ?? answer,
    ...[clients, requests, lost].map(withCommas),
  ]);
}

/** The clients that lose something. */
function clientSection({ clients, client_count: count, losing_count: losing, until }: Plan): Section {
  const losers = clients.filter(({ lost }) => lost > 0);
  const shown = losers.slice(0, maxTableRows);
  const answers = plannedAnswerNames.filter((name) => name === 'served' || shown.some((one) => one.answers[name] > 0));
  const { table } = clientTable(losers, losing, [
    ['loses', (one) => withCommas(one.lost)],
    ...answers.map((name) => {
      return [plannedAnswers[name].heading, (one: PlannedClient) => withCommas(one.answers[name])] as const;
    }),
    ['routes', routesOf],
    ['last call', (one) => ago(Date.parse(one.last), Date.parse(until))],
  ]);
  // `losing_count` does not count `other clients`, which may have a row.
  const hidden = losing - shown.filter(isSingleClient).length;
  const hiddenNote = hidden > 0 ? [`and ${withCommas(hidden)} more`] : [];
  const unharmedNote = count > losing ? [`${plural(count - losing, 'client')} would lose nothing.`] : [];
  const more = [...hiddenNote, ...unharmedNote].join('; ');
  return { table, more: more === '' ? [] : [more] };
}

/** The most used routes of the versions that the client loses. */
function routesOf({ loses: lostVersions, top_routes: top }: PlannedClient): string {
  const [first, ...others] = lostVersions;
  if (top.length === 0) return lostVersions.map((version) => `/${version}`).join(', ');
  const routes = top.map(({ version, route, requests }) => {
    return { route: others.length > 0 ? `${route} of /${version}` : route, requests };
  });
  // The number of routes is left out, because the client may have used more routes than these.
  const words = routesInWords(routes.length, routes).replace(/^\d+: /, '');
  return others.length > 0 ? words : `/${first}: ${words}`;
}
