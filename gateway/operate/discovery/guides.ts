import { createHash } from 'node:crypto';
import type { NextFunction, RequestHandler, Response } from 'express';
import { apiPathOf, baseOf, nameIn } from '../../config/api.ts';
import type { Contract, Snapshot, Version } from '../../config/snapshot.ts';
import { sendProblem } from '../../problems/problem.ts';
import type { Clock } from '../../shared/clock.ts';
import { threadFile } from '../../shared/packageFiles.ts';
import { SupervisedThread } from '../../shared/supervisedThread.ts';
import { messageOf } from '../../shared/text.ts';
import { brownoutsAhead, type CancelledBrownouts } from '../../versions/lifecycle/brownouts.ts';
import { guidePath } from '../../versions/lifecycle/guide.ts';
import { runningWaivers, stageOf, successorOf } from '../../versions/lifecycle/stage.ts';
import { guideRequest, type PageAnswer, type PageQuestion } from './guideRequest.ts';
import { guidePolicy } from './html.ts';
import { contractPath, contractType, indexPath } from './paths.ts';

// Contracts of a megabyte take a second.
const answerMs = 60_000;
// Node frees the memory of the contracts after the thread has ended.
const idleMs = 10_000;

export type PageThread = SupervisedThread<PageQuestion, PageAnswer>;

/**
 * The thread that writes guides and contracts. Only it loads the modules that read contracts, and to write one would delay all other
 * requests.
 */
export function createPageThread(): PageThread {
  return new SupervisedThread({
    file: threadFile('operate/discovery/guideThread'),
    task: 'writes guides and contracts',
    workerData: () => ({ writesGuides: true }),
    worker: { execArgv: [] },
    answerMs,
    idleMs,
  });
}

/** A guide, ready to be sent. */
interface RenderedGuide {
  readonly html: ResponseBody;
  readonly markdown: ResponseBody;
}

interface ResponseBody {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** Serves the guides of an API. A guide is generated on the first request for it, and then kept. */
export function guideHandler(
  snapshot: Snapshot,
  base: string,
  source: { readonly cancelled?: CancelledBrownouts },
  thread: PageThread,
  clock: Clock,
  notice: (line: string) => void,
): RequestHandler {
  /** Key: the path of the guide, and the stage, the waivers and the brownouts of its old version. */
  const guides = new Map<string, Promise<RenderedGuide>>();
  return (req, res, next) => {
    const now = clock.now();
    const name = String(req.params['name']);
    const versions = versionsOf(name.replace(/\.md$/, ''), base, snapshot, now);
    if (versions === undefined) {
      sendProblem(res, 'NOT_FOUND', 'No guide is served under this name.');
      return;
    }
    // The text about the end of the version changes when the version is retired, when its last waiver ends, and when a brownout is
    // over or cancelled.
    const brownouts = brownoutsAhead(versions.from, source.cancelled ?? new Map(), now);
    const isWaived = runningWaivers(versions.from, now).length > 0;
    const key = [versions.path, stageOf(versions.from, now), isWaived, ...brownouts.map(({ at }) => at)].join(' ');
    const rendered = guides.get(key) ?? render(thread, { ...versions, brownouts }, snapshot, now);
    guides.set(key, rendered);
    rendered
      .then(
        ({ html, markdown }) => {
          res.vary('Accept');
          // A client that accepts neither type gets HTML.
          const asMarkdown = name.endsWith('.md') || req.accepts(['text/html', 'text/markdown']) === 'text/markdown';
          if (asMarkdown) return send(res, markdown, 'text/markdown; charset=utf-8');
          res.set({ 'Content-Security-Policy': guidePolicy, 'Referrer-Policy': 'no-referrer' });
          send(res, html, 'text/html; charset=utf-8');
        },
        (error: unknown) => {
          notice(`The guide ${versions.path} cannot be written: ${messageOf(error)}`);
          // The next request tries again.
          guides.delete(key);
          sendProblem(res, 'CONTRACT_UNREADABLE', 'A contract of the guide cannot be read at the moment.');
        },
      )
      .catch(next);
  };
}

interface GuideVersions {
  readonly from: Version;
  readonly to: Version;
  readonly path: string;
}

function versionsOf(guideName: string, base: string, snapshot: Snapshot, now: number): GuideVersions | undefined {
  for (const from of snapshot.sortedVersions) {
    if (baseOf(from.name) !== base) continue;
    const to = successorOf(from, snapshot, now);
    const path = guidePath(from, to, snapshot);
    if (to && path?.endsWith(`/${guideName}`)) return { from, to, path };
  }
  return undefined;
}

async function render(
  thread: PageThread,
  { from, to, path, brownouts }: GuideVersions & Pick<Version, 'brownouts'>,
  snapshot: Snapshot,
  now: number,
): Promise<RenderedGuide> {
  const contracts = [from, to].flatMap((version) => {
    const href = contractPath(version, snapshot);
    return href === undefined ? [] : [{ version: nameIn(baseOf(from.name), version.name), href }];
  });
  const links = { index: indexPath(apiPathOf(from.name, snapshot)), markdown: `${path}.md`, contracts };
  const guide = guideRequest(from, to, snapshot, now, brownouts);
  const answer = await thread.ask(() => ({ guide, links }));
  if ('problem' in answer) throw new Error(answer.problem);
  if (!('html' in answer)) throw new Error('the thread has answered another question');
  return { html: bodyOf(answer.html), markdown: bodyOf(answer.markdown) };
}

/** Sends a contract of several files as one document. */
export function bundleHandler(
  thread: PageThread,
  notice: (line: string) => void,
): (contract: Contract, res: Response, next: NextFunction) => void {
  /** File → the document. Each snapshot has its own: if a file changes, a reload follows. */
  const bundles = new Map<string, Promise<ResponseBody>>();
  return (contract, res, next) => {
    const { file } = contract;
    const type = contractType(contract);
    const format = type === 'application/json' ? 'json' : 'yaml';
    const body = bundles.get(file) ?? bundle(thread, file, format);
    bundles.set(file, body);
    body
      .then(
        (bytes) => send(res, bytes, type),
        (error: unknown) => {
          notice(`The contract ${file} cannot be served: ${messageOf(error)}`);
          // The next request tries again.
          bundles.delete(file);
          sendProblem(res, 'CONTRACT_UNREADABLE', 'The contract cannot be read at the moment.');
        },
      )
      .catch(next);
  };
}

async function bundle(thread: PageThread, file: string, format: 'json' | 'yaml'): Promise<ResponseBody> {
  const answer = await thread.ask(() => ({ contract: file, format }));
  if ('text' in answer) return bodyOf(answer.text);
  throw new Error('problem' in answer ? answer.problem : 'the thread has answered another question');
}

function bodyOf(text: string): ResponseBody {
  const bytes = Buffer.from(text);
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
}

function send(res: Response, { bytes, etag }: ResponseBody, type: string): void {
  res.setHeader('Content-Type', type);
  res.setHeader('ETag', etag);
  res.send(bytes);
}
