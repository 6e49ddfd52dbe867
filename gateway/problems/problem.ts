import { catalogue, type ProblemCode } from './catalogue.ts';
import type { ProblemKind } from './kind.ts';

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
    type: typeOf(problem.code),
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
export function typeOf(code: ProblemCode): string {
  return `urn:version-gateway:problem:${code.toLowerCase().replaceAll('_', '-')}`;
}
