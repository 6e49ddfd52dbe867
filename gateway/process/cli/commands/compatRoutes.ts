import { dirname, relative, resolve, sep } from 'node:path';
import { apiOf, baseOf, type CompatSettings, idIn, rootBase } from '../../../config/api.ts';
import { decodeIfUtf8, realPathOf } from '../../../config/location.ts';
import { readYaml } from '../../../config/readDocument.ts';
import type { Snapshot, Version } from '../../../config/snapshot.ts';
import { withoutNames } from '../../../contract/routes.ts';
import { Commit, workingTreeOf } from '../../../contract/source/git.ts';
import {
  type ComparedContracts,
  compareAndJudge,
  type JudgeSettings,
  type PairReport,
} from '../../../contracts/compat/judge/judge.ts';
import { systemClock } from '../../../shared/clock.ts';
import { membersOf } from '../../../shared/json.ts';
import { messageOf, printable } from '../../../shared/text.ts';
import { evidenceOf } from '../../../usage/callFacts.ts';
import { noLiveFacts } from '../../../usage/evidence/callEvidence.ts';
import { otherRoute } from '../../../usage/usageRow.ts';
import { type Io, UsageError } from '../io.ts';
import { type LedgerEvidence, openEvidence, readAndClose } from '../ledgerStore.ts';
import { snapshotOf } from '../options.ts';
import {
  type ComparisonOptions,
  type ComparisonResult,
  judgeSettings,
  openForCompat,
  type Progress,
  rulesOff,
} from './compatFiles.ts';

/**
 * Compares each contract of a routes.yaml with its state in a commit, and each major with the previous major of its API.
 * @throws CompareError, UsageError, UnreadableFileError
 */
export async function compareRoutes(
  file: string,
  options: ComparisonOptions,
  io: Io,
  progress: Progress,
): Promise<ComparisonResult> {
  const snapshot = snapshotOf(file, io);
  const rulesSnapshot = options.config === undefined ? snapshot : snapshotOf(options.config, io);
  const { callsOf, problem } = await callsIn(snapshot, io.cwd);
  // APIs that inherit the settings of the root share them, so that an exemption that one of them uses is not stale in another.
  const settings = new Map<CompatSettings, JudgeSettings>();
  for (const { compat } of rulesSnapshot.apis.values())
    if (!settings.has(compat)) settings.set(compat, { ...judgeSettings(compat, options), callsOf });
  const versions = snapshot.sortedVersions;
  if (versions.every(({ contract }) => contract === undefined)) {
    throw new UsageError(`No version in ${file} has a contract.  Add one, such as contract: openapi.yaml.`);
  }
  const path = realPathOf(resolve(io.cwd, file));
  const base = folderOfReport(dirname(path), io.cwd);
  const ref = options.against ?? 'HEAD';
  const past = new EarlierContracts(ref, path, base, io.env);
  const notCompared = notesOn(versions, past, file, ref);
  const unknownCalls = problem === undefined ? undefined : unknownCallsNote(problem);
  const pairs: PairReport[] = [];
  const compare = (name: string, pair: ComparedContracts): void => {
    progress.show(`comparing ${pair.title}`);
    const ofApi = settings.get(apiOf(name, rulesSnapshot).compat);
    if (ofApi) pairs.push(compareAndJudge(pair, ofApi));
  };
  let previous: { readonly name: string; readonly contract: ComparedContracts['new'] | undefined } | undefined;
  for (const { name, contract } of versions) {
    const previousMajor = previous && baseOf(previous.name) === baseOf(name) ? previous : undefined;
    const current = contract && (await openForCompat(referenceTo(contract.file, base), options, io, progress, base));
    const earlier = contract && past.contractOf(name, contract.file);
    if (current && earlier) {
      const old = await openForCompat(earlier, options, io, progress, base);
      compare(name, { title: `/${name}`, between: 'past', old, new: current, versions: { old: name, new: name } });
    }
    if (current && previousMajor?.contract) {
      const title = `/${previousMajor.name} → /${name}`;
      const majors = { old: previousMajor.name, new: name };
      compare(name, { title, between: 'majors', old: previousMajor.contract, new: current, versions: majors });
    }
    previous = { name, contract: current };
  }
  pairs.sort((a, b) => Number(a.between === 'majors') - Number(b.between === 'majors'));
  const all = [...settings.values()];
  const staleExemptions = all.flatMap(({ exemptions }) => exemptions.stale);
  const off = [...new Set(all.flatMap(({ levels }) => rulesOff(levels)))];
  return { report: { pairs, staleExemptions, rulesOff: off, notCompared, unknownCalls }, folder: base };
}

/**
 * The folder that the file names of the report are relative to: `cwd`, or `folder` of the routes.yaml if that is in another Git
 * working tree.
 */
function folderOfReport(folder: string, cwd: string): string {
  return folder === cwd || workingTreeOf(folder) === workingTreeOf(cwd) ? cwd : folder;
}

/** `-` would mean standard input, so a file of that name becomes `./-`. */
function referenceTo(file: string, base: string): string {
  const path = relative(base, file);
  return path === '-' ? './-' : path;
}

/** A note for each contract that cannot be compared, because it would otherwise seem unchanged. */
function notesOn(versions: readonly Version[], past: EarlierContracts, file: string, ref: string): string[] {
  const removedVersions = past.versions.filter((name) => !versions.some((version) => version.name === name));
  return [
    ...versions.flatMap(({ name, contract }, index) => {
      if (contract) {
        const isNew = past.contractOf(name, contract.file) === undefined;
        return isNew ? [`the contract of /${name} is not in ${ref}: there is nothing to compare it with`] : [];
      }
      const earlierNote = past.versions.includes(name) ? `, but had one in ${ref}` : '';
      const following = versions[index + 1];
      const next = following && baseOf(following.name) === baseOf(name) ? following : undefined;
      const nextNote = next ? `, and /${next.name} cannot be compared with it` : '';
      return [`/${name} has no contract in ${file}${earlierNote}: it is not compared${nextNote}`];
    }),
    ...removedVersions.map((name) => `/${name} had a contract in ${ref} and is no longer in ${file}`),
  ];
}

/** The contracts of a routes.yaml in a commit. */
class EarlierContracts {
  readonly #ref: string;
  readonly #base: string;
  readonly #commit: Commit;
  /** The absolute path of each version's contract, by the name of the version. */
  readonly #files: ReadonlyMap<string, string>;

  /** @param file the routes.yaml, absolute @param base see `folderOfReport` @throws CompareError */
  constructor(ref: string, file: string, base: string, env: NodeJS.ProcessEnv) {
    this.#ref = ref;
    this.#base = base;
    this.#commit = new Commit(ref, base);
    const bytes = this.#commit.read(this.#pathTo(file));
    this.#files = bytes ? contractsIn(decodeIfUtf8(bytes) ?? '', file, env) : new Map();
  }

  /** The versions that had a contract. */
  get versions(): string[] {
    return [...this.#files.keys()];
  }

  /**
   * `HEAD:./services/v1/contract/openapi.yaml`; undefined if the commit has no such contract. `currentFile`: the present path of
   * the contract. This path is tried if the commit lacks the file that its routes.yaml names, unless `currentFile` was then the
   * contract of another version.
   */
  contractOf(version: string, currentFile: string): string | undefined {
    const wasOfAnother = [...this.#files].some(([name, file]) => name !== version && file === currentFile);
    const paths = [this.#files.get(version), wasOfAnother ? undefined : currentFile].flatMap((one) =>
      one === undefined ? [] : [this.#pathTo(one)],
    );
    const path = paths.find((one) => this.#commit.read(one) !== undefined);
    return path && `${this.#ref}:${path}`;
  }

  #pathTo(file: string): string {
    return `./${relative(this.#base, file).replaceAll(sep, '/')}`;
  }
}

/** The contracts of an earlier routes.yaml, which may be invalid by the current schema; none if it cannot be parsed. */
function contractsIn(text: string, file: string, env: NodeJS.ProcessEnv): Map<string, string> {
  const folder = dirname(file);
  const { tree } = readYaml(text, file, folder, env).source;
  const apis = [[rootBase, tree] as const, ...Object.entries(membersOf(membersOf(tree)['apis']))];
  return new Map(
    apis.flatMap(([base, api]) =>
      Object.entries(membersOf(membersOf(api)['routes'])).flatMap(([key, route]): [string, string][] => {
        const contract = membersOf(route)['contract'];
        const path = typeof contract === 'string' ? contract : membersOf(contract)['file'];
        return typeof path === 'string' ? [[idIn(base, key.replace(/^\//, '')), resolve(folder, path)]] : [];
      }),
    ),
  );
}

// The period up to now whose calls are reported.
const callWindowMs = 30 * 86_400_000;
// Short, because a CI job may have no access to the store of the fleet.
const storeTimeoutMs = 10_000;

interface Calls {
  /** The number of calls of each route. The names of parameters are left out: `GET /drinks/{}`. */
  readonly byRoute: ReadonlyMap<string, number>;
  /** True if the ledger covers the whole window and every route. Then a missing route had no calls. */
  readonly isComplete: boolean;
}

interface CallsInLedger {
  readonly callsOf: JudgeSettings['callsOf'];
  /** Why the store of a fleet cannot be read. Undefined without a fleet: the ledger may not exist yet. */
  readonly problem: string | undefined;
}

/** Reads the calls of each route from the ledger: that of the fleet, or the file `usage.store`. */
async function callsIn({ versions, usage, fleet, apis }: Snapshot, cwd: string): Promise<CallsInLedger> {
  const place = fleet ? { ...fleet, timeoutMs: storeTimeoutMs } : usage;
  let evidence: LedgerEvidence;
  try {
    evidence = await openEvidence(place, cwd, undefined, { fleet, apis });
  } catch (error) {
    return { callsOf: () => undefined, problem: fleet && messageOf(error) };
  }
  const { ledger } = evidence;
  const calls = await readAndClose(ledger, () => readCalls(evidence, [...versions.keys()], systemClock.now()));
  return {
    callsOf: (version, { kind, method, path }) => {
      if (version === undefined || kind !== 'route') return undefined;
      const versionCalls = calls.get(version);
      return versionCalls?.byRoute.get(withoutNames(`${method} ${path}`)) ?? (versionCalls?.isComplete ? 0 : undefined);
    },
    problem: fleet && ledger.problem,
  };
}

function unknownCallsNote(problem: string): string {
  return `the calls of the routes are not known: ${printable(problem.replace(/\.$/, ''))}`;
}

/** Version → its calls. Empty if the ledger is empty. */
async function readCalls(
  { ledger, stateOf }: LedgerEvidence,
  versions: readonly string[],
  now: number,
): Promise<Map<string, Calls>> {
  const since = now - callWindowMs;
  const live = stateOf(versions, callWindowMs)?.facts;
  const calls = new Map<string, Calls>();
  for (const version of versions) {
    const routes = await ledger.byRoute(version, since);
    const byRoute = new Map<string, number>();
    // A parameter may have been renamed since the call.
    for (const { route, requests } of routes) {
      const key = withoutNames(route);
      byRoute.set(key, requests + (byRoute.get(key) ?? 0));
    }
    const asked = { version, now, quiet: callWindowMs, since };
    const facts = live?.get(version) ?? noLiveFacts;
    const { countedSince, missing, pending } = await evidenceOf(ledger, asked, facts);
    // Pending counts may be calls of any route, and so may open requests.
    const isCounted = missing.length + pending.length + facts.inFlight + facts.waiting === 0;
    const isComplete = isCounted && !routes.some(({ route }) => route === otherRoute);
    if (countedSince === undefined) continue;
    // If a query has failed, rows may be missing.
    if (ledger.problem === undefined) calls.set(version, { byRoute, isComplete });
  }
  return calls;
}
