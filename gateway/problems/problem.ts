import type { ServerResponse } from 'node:http';
import { catalogue, type ProblemCode, type ProblemKind } from './catalogue.ts';

/** One occurrence of a problem: its kind, and what is particular about it. */
export interface Problem {
  readonly code: ProblemCode;
  /** Instead of the kind's own detail: what exactly, here. Never an address of an upstream. */
  readonly detail?: string;
  /** Extension members (RFC 9457 §3.2). */
  readonly members?: Readonly<Record<string, unknown>>;
  /** Further fields of the answer, names and values in turn. */
  readonly fields?: readonly string[];
}

export function statusOf(problem: Problem): number {
  return catalogue[problem.code].status;
}

/** The body, as application/problem+json (RFC 9457 §3). */
export function problemBody(problem: Problem, requestId: string | undefined): string {
  const kind: ProblemKind = catalogue[problem.code];
  return JSON.stringify({
    type: typeUriOf(problem.code),
    title: kind.title,
    status: kind.status,
    code: problem.code,
    detail: problem.detail ?? kind.detail,
    ...problem.members,
    ...(requestId === undefined ? {} : { request_id: requestId }),
  });
}

/** The fields that go with a body of `length` bytes, names and values in turn. */
export function problemFields(problem: Problem, length: number): string[] {
  const kind: ProblemKind = catalogue[problem.code];
  const fields = ['Content-Type', 'application/problem+json', 'Content-Length', String(length)];
  const error = kind.proxyError === undefined ? '' : `; error=${kind.proxyError}`;
  fields.push('Proxy-Status', `version-gateway${error}`);
  // Several of these statuses may be kept by caches for as long as they please, unless they are told otherwise.
  if (!problem.fields?.includes('Cache-Control')) fields.push('Cache-Control', 'no-store');
  if (problem.fields) fields.push(...problem.fields);
  return fields;
}

/** A stable identifier, and no promise that a page stands there (RFC 9457 §3.1.1). */
export function typeUriOf(code: ProblemCode): string {
  return `urn:version-gateway:problem:${code.toLowerCase().replaceAll('_', '-')}`;
}

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

/** docs/problems.md: the catalogue for people. */
export function problemsPage(): string {
  const codes = Object.keys(catalogue) as ProblemCode[];
  const rows = codes.map((code) => row(code, catalogue[code]));
  return `# What the gateway answers by itself

Bodies are \`application/problem+json\` (RFC 9457): \`type\`, \`title\`, \`status\`, \`detail\`, the stable \`code\`, and the
\`request_id\` that the log knows. \`Proxy-Status\` (RFC 9209) carries the error type. No answer names a backend.
Answers of a deprecated major carry \`Deprecation\`, \`Sunset\` and \`Link\` like any other.

| status | code | means | Proxy-Status error |
|---|---|---|---|
${rows.join('\n')}

The type of a problem is a URN made of its code: \`${typeUriOf('VERSION_RETIRED')}\`.
`;
}

function row(code: ProblemCode, { status, title, detail, proxyError }: ProblemKind): string {
  return `| ${status} | \`${code}\` | ${title}. ${detail} | ${proxyError === undefined ? '' : `\`${proxyError}\``} |`;
}
