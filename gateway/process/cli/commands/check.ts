import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { compareWithCompose } from '../../../config/compose/compare.ts';
import { readProject } from '../../../config/compose/project.ts';
import { parseConfig } from '../../../config/load.ts';
import { decodeIfUtf8, readRoutes, realPathOf, replacedLinkFault } from '../../../config/location.ts';
import type { ReloadOutcome } from '../../../operate/admin/adminApi.ts';
import { systemClock } from '../../../shared/clock.ts';
import { stageWithWaivers } from '../../../versions/lifecycle/stage.ts';
import { hasLoss } from '../../../versions/plan/plan.ts';
import { prepareAdaptersAndGrease } from '../../runtime/adapterCheck.ts';
import { type AdminEndpoint, AdminError, askGateway, gatewayJson, planTimeoutMs } from '../adminClient.ts';
import type { AddCommand, ExitCode, Io } from '../io.ts';
import { addAdminOption, adminEndpointOf, configOption, formatOption } from '../options.ts';
import {
  type CheckedPlan,
  type ComposeCheck,
  checkAsJson,
  checkAsText,
  isOnlyUnknown,
  planInWords,
  previewInWords,
} from '../output/checkReport.ts';
import { painter } from '../output/terminal.ts';

interface CheckOptions {
  readonly config: string;
  readonly format: 'text' | 'json';
  readonly strict?: boolean;
  readonly upstreams: boolean;
  readonly againstRunning?: boolean;
  readonly admin?: string;
  readonly compose?: readonly string[];
  readonly composeService?: string;
  readonly adapters?: boolean;
}

/** With `--adapters`: how many messages of each kind are generated for each adapted route. */
const adapterSamples = 1000;

export const addCheck: AddCommand = (program, io, finish) => {
  addAdminOption(program.command('check'))
    .description('Check a routes.yaml and report every fault.')
    .argument('[file]', 'path of routes.yaml; the same as --config')
    .addOption(configOption(io.cwd))
    .addOption(formatOption(['text', 'json']))
    .option('--strict', 'treat warnings as faults')
    .option('--no-upstreams', 'allow versions without an upstream (for the versionLifecycle middleware)')
    .option(
      '--against-running',
      'also ask the running gateway what a reload of this file would change, and which clients would lose requests',
    )
    .option(
      '--adapters',
      `check each adapted route with ${adapterSamples} generated messages of each kind, instead of a few`,
    )
    .addOption(
      new Option(
        '--compose <file>',
        'compare with a Compose file; can be repeated, later files override earlier ones',
      ).argParser((file: string, files: readonly string[] = []) => [...files, file]),
    )
    .option(
      '--compose-service <name>',
      'service of the gateway in the Compose file (default: found by its image, command or volumes)',
    )
    .action(async (file: string | undefined, given: CheckOptions, command: Command) => {
      if (file !== undefined && command.getOptionValueSource('config') === 'cli')
        program.error(`error: the file is given twice, as ${file} and as --config ${given.config}`);
      const options = file === undefined ? given : { ...given, config: file };
      if (options.composeService !== undefined && options.compose === undefined)
        program.error('error: --compose-service requires --compose');
      finish(await check(options, io));
    });
};

/** @throws UnreadableFileError, AdminError */
async function check(options: CheckOptions, io: Io): Promise<ExitCode> {
  const { config, format, strict, againstRunning } = options;
  const bytes = readRoutes(config, io.cwd);
  const text = decodeIfUtf8(bytes) ?? '';
  const now = systemClock.now();
  const compose = options.compose
    ? await checkWithCompose({ ...options, compose: options.compose }, bytes, io, now)
    : undefined;
  const parsed =
    compose?.result ??
    parseConfig(bytes, config, { env: io.env, clock: systemClock, cwd: io.cwd, needsUpstreams: options.upstreams });
  const checked = await prepareAdaptersAndGrease(parsed, options.adapters ? adapterSamples : undefined);
  const linkWarning = replacedLinkFault(config, resolve(io.cwd, config));
  const result = linkWarning ? { ...checked, warnings: [linkWarning, ...checked.warnings] } : checked;
  const report = { file: config, text, result, now };
  const paint = painter(io.stdout, io.env);
  if (format === 'text') io.stdout.write(checkAsText(report, paint, compose));
  // The running gateway is not asked about a file with faults: it would reject the file, too.
  const isAsked = againstRunning && result.snapshot && result.faults.length === 0;
  if (isAsked && format === 'text') io.stdout.write('\n');
  const endpoint = isAsked ? adminEndpointOf(options, io) : undefined;
  const preview = endpoint && (await previewOf(text, endpoint));
  const isEdit = preview !== undefined && preview.kind !== 'unchanged' && preview.kind !== 'faulty';
  // A plan also warns of waivers for clients that the ledger does not know, even if the file is not edited.
  const hasWaivers = preview !== undefined && result.snapshot?.sortedVersions.some(({ waivers }) => waivers.length > 0);
  const plan = endpoint && (isEdit || hasWaivers) ? await planOf(text, endpoint) : undefined;
  const isFaulty = result.faults.length > 0 || (strict === true && result.warnings.length > 0);
  const code = isFaulty ? 1 : runningExitCode(preview, plan);
  if (format === 'json')
    io.stdout.write(
      checkAsJson(
        report,
        { ok: code === 0, known: code !== 3, ...gatewayJson(endpoint) },
        preview,
        plan,
        compose?.facts,
      ),
    );
  else if (preview) io.stdout.write(`${[...previewInWords(preview, paint), ...planInWords(plan, paint)].join('\n')}\n`);
  return code;
}

/** What the running gateway says of the file. */
function runningExitCode(preview: ReloadOutcome | undefined, plan: CheckedPlan | undefined): ExitCode {
  // A loss that the plan knows of decides, whatever the guard does not know.
  const losesRequests = plan !== undefined && !('problem' in plan) && hasLoss(plan);
  if (preview?.kind === 'faulty' || preview?.kind === 'refused')
    return isOnlyUnknown(preview) && !losesRequests ? 3 : 1;
  if (losesRequests) return 1;
  if (plan === undefined) return 0;
  return !('problem' in plan) && plan.known ? 0 : 3;
}

// The gateway tries new targets for up to `guard.trial`, at most ten minutes.
const previewTimeoutMs = 11 * 60_000;

/** What a reload of the running gateway with this routes.yaml would do. @throws AdminError */
function previewOf(text: string, endpoint: AdminEndpoint): Promise<ReloadOutcome> {
  const body = { routes_yaml: text };
  return askGateway(endpoint, 'POST /api/reload/preview', { body, timeoutMs: previewTimeoutMs });
}

/** Which clients would lose requests. A gateway without a ledger can preview an edit, but cannot plan it. */
async function planOf(text: string, endpoint: AdminEndpoint): Promise<CheckedPlan> {
  try {
    const body = { routes_yaml: text };
    const plan = await askGateway(endpoint, 'POST /api/plan', { body, timeoutMs: planTimeoutMs });
    return 'faults' in plan ? { problem: plan.faults.join('  ') } : plan;
  } catch (error) {
    if (error instanceof AdminError) return { problem: error.message };
    throw error;
  }
}

interface ComposeOptions {
  readonly config: string;
  readonly compose: readonly string[];
  readonly composeService?: string;
  readonly upstreams: boolean;
}

/** Compares a routes.yaml with the Compose files of its gateway. @throws UnreadableFileError */
export async function checkWithCompose(
  options: ComposeOptions,
  bytes: Uint8Array,
  io: Io,
  now: number,
): Promise<ComposeCheck> {
  const { config, compose, composeService, upstreams: needsUpstreams } = options;
  const project = readProject(compose, io.env, io.cwd);
  const text = decodeIfUtf8(bytes);
  const running = project.faults.length > 0 ? undefined : await runningServices(project.name, io.cwd, io.env);
  const facts = { files: compose, project: project.name, gateway: null, running: running ?? null, notes: [] };
  const texts = project.texts;
  if (text === undefined) return { result: parseConfig(bytes, config), facts, texts };
  const routes = {
    text,
    needsUpstreams,
    file: config,
    path: realPathOf(resolve(io.cwd, config)),
    now,
    isRetired: (version: Parameters<typeof stageWithWaivers>[0]) => stageWithWaivers(version, now) === 'retired',
  };
  const compared = compareWithCompose(routes, project, composeService, running && new Set(running));
  const { result, gateway = null, notes } = compared;
  return { result, facts: { ...facts, gateway, notes }, texts };
}

// A Docker engine on this machine answers in about 100 ms.
const engineTimeoutMs = 1000;

/** The running services of a Compose project, from `docker ps`; undefined if no engine answers. */
function runningServices(project: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string[] | undefined> {
  const filter = `label=com.docker.compose.project=${project}`;
  const args = ['ps', '--filter', filter, '--format', '{{.Label "com.docker.compose.service"}}'];
  const options = { cwd, env, timeout: engineTimeoutMs, killSignal: 'SIGKILL', encoding: 'utf8' } as const;
  return new Promise((done) => {
    execFile('docker', args, options, (error, stdout) => {
      const names = stdout.split('\n').map((line) => line.trim());
      done(error ? undefined : names.filter((name) => name !== ''));
    });
  });
}
