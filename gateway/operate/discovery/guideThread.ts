import { parentPort, workerData } from 'node:worker_threads';
import { bundledText, openContract } from '../../contract/document/open.ts';
import { buildGuide } from '../../contracts/compat/guide/build.ts';
import type { Guide } from '../../contracts/compat/guide/guide.ts';
import { guideAsMarkdown } from '../../contracts/compat/guide/markdown.ts';
import { PathTable } from '../../shared/pathTable.ts';
import { messageOf } from '../../shared/text.ts';
import { movedTo } from '../../versions/lifecycle/guide.ts';
import { guidePage } from './guidePage.ts';
import type { GuideRequest, PageAnswer, PageQuestion } from './guideRequest.ts';

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
if (isGuideThread(workerData)) parentPort?.on('message', (question: PageQuestion) => void answer(question));

async function answer(question: PageQuestion): Promise<void> {
  const { number } = question;
  const post = (reply: PageAnswer): void => parentPort?.postMessage(reply);
  try {
    if ('contract' in question) post({ number, text: bundledText(question.contract, question.format) });
    else {
      const guide = await loadGuide(question.guide, '/');
      post({ number, html: guidePage(guide, question.links), markdown: guideAsMarkdown(guide) });
    }
  } catch (error) {
    // A contract that cannot be read must not end the other guides.
    post({ number, problem: messageOf(error) });
  }
}

function isGuideThread(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'writesGuides' in data;
}
