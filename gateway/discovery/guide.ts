import { createHash } from 'node:crypto';
import type { RequestHandler, Response } from 'express';
import type { Snapshot, Version } from '../config/snapshot.ts';
import { guidePath } from '../lifecycle/guide.ts';
import { stageOf } from '../lifecycle/stage.ts';
import { successorOf } from '../lifecycle/successor.ts';
import { sendProblem } from '../problems/problem.ts';
import type { Clock } from '../shared/clock.ts';
import { guidePolicy } from './guideStyle.ts';
import { writeGuide } from './guideThread.ts';
import { guideOrder } from './makeGuide.ts';
import { contractPath, indexPath } from './paths.ts';

interface Written {
  readonly body: Buffer;
  readonly etag: string;
}

interface Made {
  readonly html: Written;
  readonly markdown: Written;
}

/** Serves the guides of a snapshot. Each is made when it is first asked for, and then kept. */
export function guide(snapshot: Snapshot, clock: Clock): RequestHandler {
  const known = new Map<string, Promise<Made>>();
  return (req, res, next) => {
    const now = clock.now();
    const name = String(req.params['name']);
    const found = guideCalled(name.replace(/\.md$/, ''), snapshot, now);
    if (found === undefined) {
      sendProblem(res, 'NOT_FOUND', 'No guide is served under this name.');
      return;
    }
    // What it says of the end is another thing once the version is retired.
    const key = `${found.path} ${stageOf(found.from, now)}`;
    const made = known.get(key) ?? make(found, snapshot, now);
    known.set(key, made);
    made
      .then(
        ({ html, markdown }) => {
          res.vary('Accept');
          // HTML is also for those who accept neither.
          const asMarkdown = name.endsWith('.md') || req.accepts(['text/html', 'text/markdown']) === 'text/markdown';
          if (asMarkdown) return send(res, markdown, 'text/markdown; charset=utf-8');
          res.set({ 'Content-Security-Policy': guidePolicy, 'Referrer-Policy': 'no-referrer' });
          send(res, html, 'text/html; charset=utf-8');
        },
        () => {
          // The next one who asks may be luckier.
          known.delete(key);
          sendProblem(
            res,
            'CONTRACT_UNREADABLE',
            'A contract that the guide is made from cannot be read at the moment.',
          );
        },
      )
      .catch(next);
  };
}

interface Found {
  readonly from: Version;
  readonly to: Version;
  readonly path: string;
}

function guideCalled(name: string, snapshot: Snapshot, now: number): Found | undefined {
  for (const from of snapshot.byMajor) {
    const to = successorOf(from, snapshot, now);
    const path = guidePath(from, to, snapshot);
    if (to && path?.endsWith(`/${name}`)) return { from, to, path };
  }
  return undefined;
}

async function make({ from, to, path }: Found, snapshot: Snapshot, now: number): Promise<Made> {
  const contracts = [from, to].flatMap((version) => {
    const href = contractPath(version, snapshot);
    return href === undefined ? [] : [{ version: version.name, href }];
  });
  const links = { index: indexPath(snapshot), markdown: `${path}.md`, contracts };
  const { html, markdown } = await writeGuide(guideOrder(from, to, snapshot, now), links);
  return { html: written(html), markdown: written(markdown) };
}

function written(text: string): Written {
  const body = Buffer.from(text);
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` };
}

function send(res: Response, { body, etag }: Written, type: string): void {
  res.setHeader('Content-Type', type);
  res.setHeader('ETag', etag);
  res.send(body);
}
