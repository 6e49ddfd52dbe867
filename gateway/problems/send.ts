import type { ServerResponse } from 'node:http';
import type { ProblemCode } from './catalogue.ts';
import { problemBody, problemFields, statusOf } from './problem.ts';

/** Answers a page or an admin call with a problem; fields that are set already stay. */
export function sendProblem(res: ServerResponse, code: ProblemCode, detail: string, members = {}): void {
  const problem = { code, detail, members };
  const body = problemBody(problem, undefined);
  const fields = problemFields(problem, Buffer.byteLength(body));
  res.statusCode = statusOf(problem);
  for (let at = 0; at < fields.length; at += 2) res.setHeader(fields[at] as string, fields[at + 1] as string);
  // Node sends no body in answer to HEAD, whatever it is given.
  res.end(body);
}
