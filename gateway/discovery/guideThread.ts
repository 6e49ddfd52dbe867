import { parentPort, workerData } from 'node:worker_threads';
import { buildGuide } from '../compat/guide/build.ts';
import type { Guide } from '../compat/guide/guide.ts';
import { guideAsMarkdown } from '../compat/guide/markdown.ts';
import { openContract } from '../contract/document/open.ts';
import { movedTo } from '../lifecycle/guide.ts';
import { PathTable } from '../shared/pathTable.ts';
import { guidePage } from './guidePage.ts';
import type { GuideRequest, GuideThreadData, WrittenGuide } from './guideRequest.ts';

/** Reads and compares the two contracts. @throws CompareError */
export async function loadGuide({ from, to, moved, versionEnd }: GuideRequest, cwd: string): Promise<Guide> {
  // Remote `$ref`s are not followed, because a request for a page must not cause requests to other hosts.
  const options = { cwd, stdin: () => '', allowRemote: false };
  const [oldContract, newContract] = [await openContract(from.file, options), await openContract(to.file, options)];
  const tables = moved.map((rows) => new PathTable(rows));
  return buildGuide({
    old: oldContract,
    new: newContract,
    from: from.name,
    to: to.name,
    moved: (path) => movedTo(path, tables),
    versionEnd,
  });
}

// Runs in the thread that guides.ts starts. The CLI also imports this module, and may run in another thread.
if (parentPort && isThreadData(workerData)) {
  const guide = await loadGuide(workerData.guide, '/');
  const written: WrittenGuide = { html: guidePage(guide, workerData.links), markdown: guideAsMarkdown(guide) };
  parentPort.postMessage(written);
}

function isThreadData(data: unknown): data is GuideThreadData {
  return typeof data === 'object' && data !== null && 'guide' in data && 'links' in data;
}
