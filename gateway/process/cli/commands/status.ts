import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Option } from 'commander';
import { formatFault } from '../../../config/fault.ts';
import { replacedLinkFault } from '../../../config/location.ts';
import type { StatusJson, VersionJson } from '../../../operate/admin/statusJson.ts';
import { systemClock } from '../../../shared/clock.ts';
import { plural, printable } from '../../../shared/text.ts';
import { type AdminEndpoint, askGateway, gatewayJson } from '../adminClient.ts';
import { type AddCommand, type ExitCode, type Io, UsageError } from '../io.ts';
import {
  addAdminEndpointOptions,
  adminEndpointOf,
  defaultConfig,
  formatOption,
  type PrintOptions,
  type TimeArgument,
  timeoutArgument,
} from '../options.ts';
import { statusAsText, unresponsiveWorkers, waivedClientsText } from '../output/statusReport.ts';
import { printAnswer, printedJson } from '../output/terminal.ts';

interface StatusOptions extends PrintOptions {
  /** The path segment: `v1`. */
  readonly wait?: string;
  readonly timeout: TimeArgument;
}

export const addStatus: AddCommand = (program, io, finish) => {
  addAdminEndpointOptions(program.command('status'))
    .description('Show the versions of a running gateway and their requests in flight.')
    .addOption(formatOption(['text', 'json']))
    .option(
      '--wait <version>',
      'wait until a retired version, or the backend of an adapted one, has no requests in flight',
      (text) => text.replace(/^\//, ''),
    )
    .addOption(
      new Option('--timeout <duration>', 'with --wait: how long to wait')
        .argParser(timeoutArgument)
        .default(timeoutArgument('60s'), '60s'),
    )
    .action(async (options: StatusOptions) => finish(await status(options, io)));
};

/** @throws AdminError, UsageError */
async function status(options: StatusOptions, io: Io): Promise<ExitCode> {
  const { format, wait, timeout } = options;
  const file = options.config ?? defaultConfig(io.cwd) ?? 'routes.yaml';
  const linkWarning = replacedLinkFault(file, resolve(io.cwd, file));
  if (linkWarning) io.stderr.write(`warning: ${formatFault(linkWarning)}\n`);
  const endpoint = adminEndpointOf(options, io, wait === undefined ? 'stdout' : 'stderr');
  const pollStatus = (timeoutMs?: number) =>
    askGateway(endpoint, 'GET /api/status', timeoutMs === undefined ? {} : { timeoutMs });
  if (wait !== undefined) return waitUntilSafe(wait, timeout, pollStatus, { endpoint, format }, io);
  const found = await pollStatus();
  printAnswer(found, { format, endpoint, io }, (paint, width) => statusAsText(found, systemClock.now(), paint, width));
  return 0;
}

const pollIntervalMs = 250;
// The last poll gets at least five seconds, even if less time is left: a busy machine must not look like a gateway that is down.
const [shortestPollMs, longestPollMs] = [5000, 10_000];

/** Polls until a retired version can be stopped, or prints why it cannot. @throws AdminError, UsageError */
async function waitUntilSafe(
  name: string,
  timeout: TimeArgument,
  pollStatus: (timeoutMs: number) => Promise<StatusJson>,
  { endpoint, format }: { readonly endpoint: AdminEndpoint; readonly format: string },
  io: Io,
): Promise<ExitCode> {
  const until = systemClock.now() + timeout.ms;
  const end = (code: ExitCode, words: string, version?: VersionJson): ExitCode => {
    if (format === 'json' && version) io.stdout.write(printedJson({ ...version, ...gatewayJson(endpoint) }));
    if (code !== 0) io.stderr.write(`${words}\n`);
    else if (format === 'text') io.stdout.write(`${words}\n`);
    return code;
  };
  let lastLine: string | undefined;
  for (;;) {
    const leftMs = until - systemClock.now();
    const status = await pollStatus(Math.min(longestPollMs, Math.max(shortestPollMs, leftMs)));
    const version = status.versions.find((one) => one.version === name);
    if (!version) throw new UsageError(unknownVersion(name, status.versions));
    const hasEnded = version.stage === 'retired' || version.stage === 'removed';
    const isAdapted = !hasEnded && version.adapter?.mode === 'serve';
    if (!isAdapted && !hasEnded) return end(1, stillServed(version), version);
    // Waiting does not help: gateways do not report their requests to the former backends.
    if (isAdapted && status.fleet) return end(version.known === true ? 1 : 3, unknownInFleet(version), version);
    const waived = waivedClientsText(version);
    if (waived !== undefined) return end(1, `/${name} is retired, and still served for ${waived}`, version);
    if (version.safe_to_stop) return end(0, safeInWords(version, isAdapted), version);
    const unresponsive = unresponsiveWorkers(status).map((line) => `; ${printable(line)} and may have more`);
    const state = `${stateInWords(version, isAdapted)}${unresponsive.join('')}`;
    if (leftMs <= 0 && version.known === false)
      return end(3, `/${name}: not known whether it is safe to stop after ${timeout.text}: ${state}`, version);
    if (leftMs <= 0)
      return end(
        1,
        `/${name}: still ${stateInWords(version, isAdapted)} after ${timeout.text}${unresponsive.join('')}`,
        version,
      );
    const line = `/${name}: ${state}\n`;
    if (line !== lastLine) io.stderr.write(line);
    lastLine = line;
    await sleep(Math.min(pollIntervalMs, leftMs));
  }
}

function adaptedInWords({ version, adapter }: VersionJson): string {
  return printable(`/${version} is served by an adapter from /${adapter?.from}`);
}

function unknownInFleet(version: VersionJson): string {
  const backend = printable(`/${version.version}`);
  return `${adaptedInWords(version)} here. Other gateways of the fleet may still use the backend of ${backend}.`;
}

function safeInWords(version: VersionJson, isAdapted: boolean): string {
  return isAdapted
    ? `${adaptedInWords(version)}, 0 requests in flight to its own backend, safe to stop the backend`
    : `/${version.version}: 0 requests in flight, safe to stop`;
}

/** What blocks the stop: `gw-2 still serves it, gw-3 not heard for 41 s`. Without blockers, the number of open requests. */
function stateInWords(version: VersionJson, isAdapted: boolean): string {
  const { in_flight: inFlight, waiting, blocked_by: blockers = [] } = version;
  if (blockers.length > 0) return blockers.map((one) => printable(one)).join(', ');
  if (isAdapted) return `${plural(requestsToOwnBackend(version), 'request')} in flight to its own backend`;
  return `${plural(inFlight + waiting, 'request')} in flight`;
}

/** Its own targets are reported as `removed` while they have open requests. */
function requestsToOwnBackend({ waiting, targets }: VersionJson): number {
  const ownTargets = targets.filter(({ health }) => health === 'removed');
  return ownTargets.reduce((sum, target) => sum + target.in_flight, waiting);
}

function unknownVersion(name: string, versions: readonly VersionJson[]): string {
  const versionList = versions.map(({ version }) => printable(`/${version}`)).join(', ');
  return `The gateway has no version /${printable(name)}.  It has ${versionList === '' ? 'none' : versionList}.`;
}

function stillServed({ version, stage }: VersionJson): string {
  return printable(`/${version} is still served (${stage}).  Retire it first: set retired: true in routes.yaml.`);
}
