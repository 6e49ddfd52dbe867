import { stat } from 'node:fs';
import type { RequestHandler } from 'express';
import type { Snapshot } from '../config/snapshot.ts';
import { sendProblem } from '../problems/problem.ts';
import { largestContract } from '../shared/fileSystem.ts';
import { contractType, publishedName } from './paths.ts';

/** Serves contract files by their published name; a hidden one is answered like one that never was. */
export function contract(snapshot: Snapshot): RequestHandler {
  return (req, res) => {
    const found = snapshot.byMajor.find((version) => publishedName(version) === req.params['name'])?.contract;
    if (found === undefined) {
      sendProblem(res, 'NOT_FOUND', 'No contract is published under this name.');
      return;
    }
    res.setHeader('Content-Type', contractType(found));
    // The operator names the file, not the request: a folder such as `.deploy` on its way is no secret to guard.
    const options = { dotfiles: 'allow', cacheControl: false, acceptRanges: false } as const;
    const unreadable = (): void =>
      sendProblem(res, 'CONTRACT_UNREADABLE', 'The contract cannot be read at the moment.');
    // Each open of a pipe would occupy a thread of libuv's pool until somebody writes to the pipe.
    stat(found.file, (unknown, stats) => {
      if (unknown || !stats.isFile() || stats.size > largestContract) return unreadable();
      res.sendFile(found.file, options, (error: Error | undefined) => {
        if (error === undefined) return;
        if (res.headersSent) res.destroy();
        else if ('status' in error && error.status === 412)
          sendProblem(res, 'PRECONDITION_FAILED', 'The contract is another one by now.');
        else unreadable();
      });
    });
  };
}
