import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { openContract } from '../compat/document/open.ts';
import { CompareError } from '../compat/failure.ts';
import { buildGuide } from '../compat/guide/build.ts';
import type { Guide, VersionEnd } from '../compat/guide/guide.ts';
import { guideAsMarkdown } from '../compat/guide/markdown.ts';
import type { Snapshot, Version } from '../config/snapshot.ts';
import { movedTo, renamings } from '../lifecycle/guide.ts';
import { stageOf } from '../lifecycle/stage.ts';
import { PathTable } from '../shared/pathTable.ts';
import { type GuideLinks, guidePage } from './guidePage.ts';
import { versionPath } from './paths.ts';

/** Which guide to write, as plain data that can be sent to a thread. */
export interface GuideRequest {
  readonly from: VersionContract;
  readonly to: VersionContract;
  /** The entries of the `moved` tables, of each major from `from` to `to`. */
  readonly moved: readonly (readonly (readonly [template: string, value: string | null])[])[];
  readonly end: VersionEnd;
}

interface VersionContract {
  readonly name: string;
  /** Absolute, or relative to the folder that `loadGuide` is given. */
  readonly file: string;
}

/** @throws CompareError for a version without a contract */
export function guideRequest(from: Version, to: Version, snapshot: Snapshot, now: number): GuideRequest {
  const { publicUrl = '' } = snapshot.gateway;
  return {
    from: contractOf(from),
    to: contractOf(to),
    moved: renamings(from, to, snapshot).map((table) => table.entries()),
    end: {
      deprecation: from.deprecation,
      sunset: from.sunset,
      isGoneAfterwards: from.afterSunset === 'gone',
      isRetired: stageOf(from, now) === 'retired',
      oldBase: publicUrl + versionPath(from, snapshot),
      newBase: publicUrl + versionPath(to, snapshot),
    },
  };
}

function contractOf({ name, contract }: Version): VersionContract {
  if (contract) return { name, file: contract.file };
  throw new CompareError(`/${name}`, 'has no contract in routes.yaml', `Set routes./${name}.contract.`);
}

/** Reads and compares the two contracts. @throws CompareError */
export async function loadGuide({ from, to, moved, end }: GuideRequest, cwd: string): Promise<Guide> {
  // Remote `$ref`s are not followed: a request for a page must not cause requests to other hosts.
  const options = { cwd, stdin: () => '', allowRemote: false };
  const [old, now] = [await openContract(from.file, options), await openContract(to.file, options)];
  const tables = moved.map((rows) => new PathTable(rows));
  return buildGuide({ old, new: now, from: from.name, to: to.name, moved: (path) => movedTo(path, tables), end });
}

interface WrittenGuide {
  readonly html: string;
  readonly markdown: string;
}

interface ThreadData {
  readonly guide: GuideRequest;
  readonly links: GuideLinks;
}

/**
 * Writes a guide in a new thread: contracts of a megabyte take a second, which would delay all other requests.
 * @throws every error of the thread
 */
export function writeGuideInThread(guide: GuideRequest, links: GuideLinks): Promise<WrittenGuide> {
  return new Promise((resolve, reject) => {
    const data: ThreadData = { guide, links };
    const thread = new Worker(new URL(import.meta.url), { workerData: data, execArgv: [] });
    thread.unref();
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', () => reject(new Error('The thread ended without a guide.')));
  });
}

// The thread runs this module too. The gateway itself may also run in a thread, so the data is checked.
if (!isMainThread && isThreadData(workerData)) {
  const guide = await loadGuide(workerData.guide, '/');
  const written: WrittenGuide = { html: guidePage(guide, workerData.links), markdown: guideAsMarkdown(guide) };
  parentPort?.postMessage(written);
}

function isThreadData(data: unknown): data is ThreadData {
  return typeof data === 'object' && data !== null && 'guide' in data && 'links' in data;
}
