import type { IncomingMessage, ServerResponse } from 'node:http';
import { catalogue, type ProblemCode, type ProblemKind } from './catalogue.ts';

/** One occurrence of a problem: its code and details. */
export interface Problem {
  readonly code: ProblemCode;
  /** Replaces the status of the catalogue. */
  readonly status?: number;
  /** Replaces the detail of the catalogue. Never contains an upstream address. */
  readonly detail?: string;
  /** Extension members (RFC 9457 §3.2). */
  readonly members?: Readonly<Record<string, unknown>>;
  /** Additional header fields: alternating names and values. */
  readonly fields?: readonly string[];
}

export function statusOf(problem: Problem): number {
  return problem.status ?? catalogue[problem.code].status;
}

/** The body, as application/problem+json (RFC 9457 §3). */
export function problemBody(problem: Problem, requestId?: string): string {
  const kind: ProblemKind = catalogue[problem.code];
  return JSON.stringify({
    type: typeUriOf(problem.code),
    title: kind.title,
    status: statusOf(problem),
    code: problem.code,
    detail: problem.detail ?? kind.detail,
    ...problem.members,
    ...(requestId === undefined ? {} : { request_id: requestId }),
  });
}

/** The header fields for a body of `length` bytes: alternating names and values. */
export function problemFields(problem: Problem, length: number): string[] {
  const kind: ProblemKind = catalogue[problem.code];
  const fields = ['Content-Type', 'application/problem+json', 'Content-Length', String(length)];
  const error = kind.proxyError === undefined ? '' : `; error=${kind.proxyError}`;
  fields.push('Proxy-Status', `version-gateway${error}`);
  // By default, caches may store responses with several of these statuses.
  if (!problem.fields?.includes('Cache-Control')) fields.push('Cache-Control', 'no-store');
  if (problem.fields) fields.push(...problem.fields);
  return fields;
}

/** A stable identifier, not the address of a page (RFC 9457 §3.1.1). */
export function typeUriOf(code: ProblemCode): string {
  return `urn:version-gateway:problem:${code.toLowerCase().replaceAll('_', '-')}`;
}

/** Answers a page or an admin call with a problem. Keeps header fields that are set already. */
export function sendProblem(res: ServerResponse, code: ProblemCode, detail: string, members = {}): void {
  const problem = { code, detail, members };
  const body = problemBody(problem);
  const fields = problemFields(problem, Buffer.byteLength(body));
  res.statusCode = statusOf(problem);
  for (let at = 0; at < fields.length; at += 2) res.setHeader(fields[at] as string, fields[at + 1] as string);
  // Node sends no body in response to HEAD.
  res.end(body);
}

/** Answers a page or an admin call that failed unexpectedly. `notice` gets the reason. */
export function sendInternalError(
  res: ServerResponse,
  req: IncomingMessage,
  error: unknown,
  notice: (line: string) => void,
): void {
  // A query may contain secrets.
  const path = req.url?.split('?', 1)[0] ?? '';
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  notice(`${req.method} ${path} failed: ${reason.replace(/\n\s*/g, ' ')}`);
  if (res.headersSent) res.destroy();
  else sendProblem(res, 'INTERNAL_ERROR', 'The request failed. The log has the reason.');
}

/** The text of docs/problems.md. */
export function problemsPage(): string {
  const codes = Object.keys(catalogue) as ProblemCode[];
  const rows = codes.map((code) => row(code, catalogue[code]));
  return `# Errors that the gateway answers itself

Bodies are \`application/problem+json\` (RFC 9457): \`type\`, \`title\`, \`status\`, \`detail\` and the stable \`code\`. Errors of
API requests also have a \`request_id\`, which is the \`id\` of the log line. It is missing if the request could not be parsed.
\`Proxy-Status\` (RFC 9209) carries the error type. No answer names a backend.
Errors of a deprecated major carry \`Deprecation\`, \`Sunset\` and \`Link\` like any other response.

| status | code | meaning | Proxy-Status error |
|---|---|---|---|
${rows.join('\n')}

The \`type\` is a URN made from the code: \`${typeUriOf('VERSION_RETIRED')}\`.
`;
}

function row(code: ProblemCode, { status, title, detail, proxyError }: ProblemKind): string {
  return `| ${status} | \`${code}\` | ${title}. ${detail} | ${proxyError === undefined ? '' : `\`${proxyError}\``} |`;
}
