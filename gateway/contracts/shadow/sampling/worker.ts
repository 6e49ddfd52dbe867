import { parentPort, workerData } from 'node:worker_threads';
import type { Snapshot } from '../../../config/snapshot.ts';
import { fromPlain, type PlainSnapshot } from '../../../config/transfer.ts';
import { decodedBody } from '../../../shared/contentCoding.ts';
import { lowerThreadPriority } from '../../../shared/threadPriority.ts';
import type { EvidenceRow } from '../../../usage/usageRow.ts';
import { EvidenceCollector } from '../compare/collector.ts';
import { evidenceHash } from '../compare/evidence.ts';
import type { ResponsePair } from '../compare/sample.ts';
import { driftKey, shadowKey } from './copyPlan.ts';
import { type DriftSample, isToBeCopied, type ShadowDrop, type ShadowSample } from './shadowBatch.ts';
import { type CopyOutcome, ShadowQueue } from './shadowQueue.ts';

// The entry point of the thread that sends copies and compares responses. Both may take long, and must not delay requests.

/** What this thread starts with. */
export interface ShadowStart {
  readonly snapshot: PlainSnapshot;
  /** The keys of the comparisons that an operator has stopped. */
  readonly stopped: readonly string[];
}

/** A message to this thread. */
export type ShadowCommand =
  | ({ readonly kind: 'configure' } & ShadowStart)
  /** Answered by `stopped` with the same number. */
  | { readonly kind: 'stop'; readonly number: number; readonly stopped: readonly string[] }
  | { readonly kind: 'sample'; readonly sample: ShadowSample | DriftSample };

type CopyKind = 'shadow' | 'control' | 'drift';

/** What has happened since the last report of this thread. */
export interface ShadowCounts {
  readonly kind: 'counts';
  readonly copies: readonly (readonly [version: string, kind: CopyKind, outcome: CopyOutcome, count: number])[];
  readonly dropped: readonly (readonly [version: string, reason: ShadowDrop, count: number])[];
  /** The versions whose copies are not sent, because the version that gets them fails. */
  readonly broken: readonly string[];
  /** The bytes of the bodies that this thread has taken. */
  readonly takenBytes: number;
}

/** A message of this thread. */
export type ShadowReport =
  | ShadowCounts
  /** The evidence since the last message. */
  | { readonly kind: 'evidence'; readonly rows: readonly EvidenceRow[] }
  | { readonly kind: 'stopped'; readonly number: number };

const reportDelayMs = 100;
// Evidence is collected for this long, because the ledger adds the rows of one message in one transaction.
const evidenceDelayMs = 2_000;

lowerThreadPriority();

/** The queue of one shadow. */
interface RunningShadow {
  /** Changes when a setting changes that the queue uses. */
  readonly identity: string;
  readonly queue: ShadowQueue;
  /** The first one compares the unadapted responses. The second one, if any, compares the adapted responses. */
  readonly collectors: readonly Promise<EvidenceCollector>[];
}

/** The comparison of the responses of one version with its contract. */
interface RunningDrift {
  /** Changes when the settings or the contract change. */
  readonly identity: string;
  /** The size of the largest body that is compared. */
  readonly maxBytes: number;
  readonly collector: Promise<EvidenceCollector>;
}

let current: PlainSnapshot;
/** Version → its shadow. */
const runningShadows = new Map<string, RunningShadow>();
/** Version → the comparison with its contract. */
const drifts = new Map<string, RunningDrift>();
/** `copies v1 shadow compared` or `dropped v1 late` → how often it has happened since the last report. */
const counts = new Map<string, number>();
let reportTimer: NodeJS.Timeout | undefined;
let takenBytes = 0;
let evidenceTimer: NodeJS.Timeout | undefined;

parentPort?.on('message', (command: ShadowCommand) => {
  if (command.kind === 'sample') take(command.sample);
  else if (command.kind === 'configure') configure(command);
  else {
    configure({ snapshot: current, stopped: command.stopped });
    post({ kind: 'stopped', number: command.number });
  }
});
configure(workerData as ShadowStart);

function take(sample: ShadowSample | DriftSample): void {
  takenBytes += sample.body.length;
  reportSoon();
  if (!isToBeCopied(sample)) {
    void compareWithContract(sample);
    return;
  }
  const shadow = runningShadows.get(sample.version);
  if (shadow?.identity.startsWith(`${sample.key} `)) void shadow.queue.add(sample);
  else count(`dropped ${sample.version} changed`);
}

function configure({ snapshot: next, stopped: keys }: ShadowStart): void {
  void passEvidence();
  current = next;
  const stopped = new Set(keys);
  const snapshot = fromPlain(current);
  configureDrift(snapshot, stopped);
  const wanted = new Map(
    snapshot.sortedVersions.flatMap((version) => {
      const { shadow: settings } = version;
      const key = settings && shadowKey(version);
      if (settings === undefined || key === undefined || stopped.has(key)) return [];
      const to = snapshot.versions.get(settings.to);
      const usedSettings = [version, to].map((one) => [
        one?.tls,
        one?.prefix,
        one?.moved.entries(),
        one?.contract?.digest,
        one?.adapter?.mode,
        one?.adapter?.derivedFromContracts?.hash,
      ]);
      return [[version.name, { version, settings, identity: `${key} ${JSON.stringify(usedSettings)}` }] as const];
    }),
  );
  for (const [name, { identity, queue }] of runningShadows) {
    if (wanted.get(name)?.identity === identity) continue;
    queue.close();
    runningShadows.delete(name);
  }
  for (const [name, { version, settings, identity }] of wanted) {
    if (runningShadows.has(name)) continue;
    const { to } = settings;
    const { contract } = version;
    const toContract = snapshot.versions.get(to)?.contract;
    const hash = evidenceHash(contract?.digest, toContract?.digest);
    const files = { contract: contract?.file, toContract: toContract?.file };
    const collectors = [EvidenceCollector.open({ version: name, to, hash, ...files })];
    if (version.adapter?.mode === 'shadow' && version.adapter.from === to) {
      // Adapted responses have to satisfy the contract of the version itself.
      const adaptedHash = evidenceHash(
        contract?.digest,
        toContract?.digest,
        version.adapter.derivedFromContracts?.hash,
      );
      const ownFiles = { contract: contract?.file, toContract: contract?.file };
      collectors.push(EvidenceCollector.open({ version: name, to: name, hash: adaptedHash, ...ownFiles }));
    }
    // `compare` handles a rejection, for each pair.
    for (const collector of collectors) collector.catch(() => {});
    const sink = {
      pair: (pair: ResponsePair) => {
        const [unadapted, adapted] = collectors;
        // A control pair has two responses of this version. Both comparisons need it.
        if (unadapted && pair.kind !== 'adapter') void compare(name, unadapted, pair);
        // Both responses are compared with the contract of this version, so both have its template.
        if (adapted && pair.kind !== 'shadow') void compare(name, adapted, { ...pair, toTemplate: pair.template });
      },
      copy: (kind: 'shadow' | 'control', outcome: CopyOutcome) => count(`copies ${name} ${kind} ${outcome}`),
      drop: (reason: ShadowDrop) => count(`dropped ${name} ${reason}`),
    };
    runningShadows.set(name, { identity, collectors, queue: new ShadowQueue(version, snapshot, settings, sink) });
  }
}

function configureDrift({ sortedVersions }: Snapshot, stopped: ReadonlySet<string>): void {
  const before = new Map(drifts);
  drifts.clear();
  for (const version of sortedVersions) {
    const { name, drift, contract } = version;
    if (drift === undefined || contract === undefined) continue;
    const key = driftKey(version);
    if (stopped.has(key)) continue;
    const identity = `${key} ${contract.digest}`;
    const runningDrift = before.get(name);
    const hash = evidenceHash(contract.digest, contract.digest);
    const files = { contract: contract.file, toContract: contract.file };
    const collector =
      runningDrift?.identity === identity
        ? runningDrift.collector
        : EvidenceCollector.open({ version: name, to: name, hash, ...files });
    // `compare` handles a rejection, for each response.
    collector.catch(() => {});
    drifts.set(name, { identity, maxBytes: drift.body, collector });
  }
}

/** Never rejects. */
async function compareWithContract(sample: DriftSample): Promise<void> {
  const { version, method, template, status, contentType, contentEncoding, at } = sample;
  const drift = drifts.get(version);
  if (!drift?.identity.startsWith(`${sample.key} `)) return;
  const bodyOrReason =
    method === 'HEAD' ? sample.body : await decodedBody(sample.body, contentEncoding, drift.maxBytes);
  // The comparison may have been stopped while the body was decoded.
  if (typeof bodyOrReason === 'string' || drifts.get(version)?.collector !== drift.collector) return;
  const response = { status, contentType, body: bodyOrReason };
  const pair = { kind: 'drift', method, template, toTemplate: template, old: response, new: response } as const;
  await compare(version, drift.collector, { ...pair, copyLacksCredentials: false, at });
  const { knowsContract } = await drift.collector.catch(() => ({ knowsContract: false }));
  if (knowsContract) count(`copies ${version} drift compared`);
}

/** Never rejects. The message of an error may contain a part of a body, so it is not reported. */
async function compare(version: string, collector: Promise<EvidenceCollector>, pair: ResponsePair): Promise<void> {
  try {
    (await collector).add(pair);
  } catch {
    count(`dropped ${version} defect`);
  }
  if (evidenceTimer === undefined) evidenceTimer = setTimeout(() => void passEvidence(), evidenceDelayMs);
}

async function passEvidence(): Promise<void> {
  evidenceTimer = undefined;
  // Listed before the first `await`: `configure` removes shadows while this function waits, and their evidence must not be lost.
  const collectors = [...runningShadows.values()].flatMap((shadow) => shadow.collectors);
  collectors.push(...[...drifts.values()].map(({ collector }) => collector));
  for (const collector of collectors) {
    const rows = await collector.then((one) => one.take()).catch(() => []);
    if (rows.length > 0) post({ kind: 'evidence', rows });
  }
}

function count(key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
  reportSoon();
}

function reportSoon(): void {
  if (reportTimer === undefined) reportTimer = setTimeout(report, reportDelayMs);
}

function report(): void {
  reportTimer = undefined;
  const countsByKeyParts = [...counts].map(([key, value]) => [key.split(' '), value] as const);
  counts.clear();
  const broken = [...runningShadows].filter(([, { queue }]) => queue.isBroken).map(([name]) => name);
  post({
    kind: 'counts',
    copies: countsByKeyParts.flatMap(([[group, version = '', kind, outcome], value]) =>
      group === 'copies' ? [[version, kind as CopyKind, outcome as CopyOutcome, value] as const] : [],
    ),
    dropped: countsByKeyParts.flatMap(([[group, version = '', reason], value]) =>
      group === 'dropped' ? [[version, reason as ShadowDrop, value] as const] : [],
    ),
    broken,
    takenBytes,
  });
  takenBytes = 0;
  // Reports again later, so that the end of the failures is reported, too.
  if (broken.length > 0) reportTimer = setTimeout(report, 1000).unref();
}

function post(message: ShadowReport): void {
  parentPort?.postMessage(message);
}
