import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { guideAsMarkdown } from '../compat/guide/markdown.ts';
import { type GuideLinks, guidePage } from './guidePage.ts';
import { type GuideOrder, makeGuide } from './makeGuide.ts';

/** A guide in both spellings. */
export interface WrittenGuide {
  readonly html: string;
  readonly markdown: string;
}

interface Order {
  readonly guide: GuideOrder;
  readonly links: GuideLinks;
}

/**
 * Has a guide written in a thread of its own: contracts of a megabyte take a second, for which nobody's request may wait.
 * @throws whatever went wrong there
 */
export function writeGuide(guide: GuideOrder, links: GuideLinks): Promise<WrittenGuide> {
  return new Promise((resolve, reject) => {
    const order: Order = { guide, links };
    const thread = new Worker(new URL(import.meta.url), { workerData: order, execArgv: [] });
    thread.unref();
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', () => reject(new Error('The thread ended without a guide.')));
  });
}

if (!isMainThread && isOrder(workerData)) {
  const guide = await makeGuide(workerData.guide, '/');
  const written: WrittenGuide = { html: guidePage(guide, workerData.links), markdown: guideAsMarkdown(guide) };
  parentPort?.postMessage(written);
}

/** The gateway itself may run in somebody's thread. */
function isOrder(data: unknown): data is Order {
  return typeof data === 'object' && data !== null && 'guide' in data && 'links' in data;
}
