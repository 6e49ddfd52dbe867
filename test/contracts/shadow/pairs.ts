import { Documents } from '../../../gateway/contract/document/documents.ts';
import { assessEvidence, type RouteEvidence } from '../../../gateway/contracts/shadow/compare/assess.ts';
import { type ComparedVersions, EvidenceCollector } from '../../../gateway/contracts/shadow/compare/collector.ts';
import { ContractResponses } from '../../../gateway/contracts/shadow/compare/responses.ts';
import type { ComparedResponse, ResponsePair } from '../../../gateway/contracts/shadow/compare/sample.ts';
import type { EvidenceRow } from '../../../gateway/usage/usageRow.ts';

export type JsonSchema = Readonly<Record<string, unknown>> | boolean;

export interface ContractOptions {
  readonly openapi?: string;
  readonly schemas?: Readonly<Record<string, unknown>>;
  /** By status; default: 200 with the schema. */
  readonly responses?: Readonly<Record<string, unknown>>;
  readonly parameters?: readonly object[];
}

/** A contract with the route `GET /drinks` and a schema for its 200. Undefined: no contract. */
export function contract(schema: JsonSchema | undefined, options: ContractOptions = {}): ContractResponses {
  if (schema === undefined) return new ContractResponses(undefined, 'v1');
  const { openapi = '3.1.0', schemas = {}, responses = { 200: jsonResponse(schema) }, parameters = [] } = options;
  const root = { openapi, paths: { '/drinks': { get: { responses, parameters } } }, components: { schemas } };
  const noFiles = (): never => {
    throw new Error('The contract refers to no other file.');
  };
  return new ContractResponses(new Documents({ name: 'contract', root }, noFiles), 'v1');
}

export function jsonResponse(schema: JsonSchema): object {
  return { description: '', content: { 'application/json': { schema } } };
}

export function json(value: unknown, status = 200): ComparedResponse {
  return raw(JSON.stringify(value) ?? '', status);
}

export function raw(
  text: string,
  status = 200,
  contentType: string | undefined = 'application/json',
): ComparedResponse {
  return { status, contentType, body: new TextEncoder().encode(text) };
}

export function pairOf(
  old: ComparedResponse,
  now: ComparedResponse | undefined,
  more: Partial<ResponsePair> = {},
): ResponsePair {
  const route = { method: 'GET', template: '/drinks', toTemplate: '/drinks' };
  return { kind: 'shadow', ...route, old, new: now, copyLacksCredentials: false, at: 1_000, ...more };
}

export const versions: ComparedVersions = {
  version: 'v1',
  to: 'v2',
  hash: 'h',
  contract: undefined,
  toContract: undefined,
};

/** The rows of several collections, as a ledger adds them up. */
export function addedUp(batches: readonly (readonly EvidenceRow[])[]): EvidenceRow[] {
  const sums = new Map<string, EvidenceRow>();
  for (const row of batches.flat()) {
    const key = [row.kind, row.route, row.status, row.path, row.what, row.detail].join(' ');
    const known = sums.get(key);
    if (known) addEvidence(known, row);
    else sums.set(key, { ...row });
  }
  return [...sums.values()];
}

export function collect(old: ContractResponses, now: ContractResponses, pairs: Iterable<ResponsePair>): EvidenceRow[] {
  const collector = new EvidenceCollector(versions, old, now);
  for (const pair of pairs) collector.add(pair);
  return collector.take();
}

/** The evidence about the only route. */
export function assessed(
  old: ContractResponses,
  now: ContractResponses,
  pairs: Iterable<ResponsePair>,
): RouteEvidence & { alarms: string[]; declared: string[] } {
  const [route] = assessEvidence(collect(old, now, pairs));
  if (route === undefined) throw new Error('no evidence');
  const named = (name: string): string[] =>
    route.differences
      .filter((one) => one.class === name)
      .map(({ path, what, detail }) => `${path} ${what} ${detail}`.trim());
  return { ...route, alarms: named('undeclared'), declared: named('declared') };
}

/** Adds the counts of `more` to `sum` in place. Both are about the same property. */
function addEvidence(sum: EvidenceRow, more: EvidenceRow): void {
  sum.pairs += more.pairs;
  sum.oldMore += more.oldMore;
  sum.newMore += more.newMore;
  sum.oldShare += more.oldShare;
  sum.newShare += more.newShare;
  sum.first = Math.min(sum.first, more.first);
  sum.last = Math.max(sum.last, more.last);
}
