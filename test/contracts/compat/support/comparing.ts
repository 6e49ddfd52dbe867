import { expect } from 'vitest';
import { Documents, type OpenFile } from '../../../../gateway/contract/document/documents.ts';
import { CompareError } from '../../../../gateway/contract/failure.ts';
import { compareContracts } from '../../../../gateway/contracts/compat/diff/contracts.ts';
import { type Finding, findingsOf } from '../../../../gateway/contracts/compat/judge/findings.ts';
import { defaultLevelOf } from '../../../../gateway/contracts/compat/rules/rules.ts';

export type Json = Readonly<Record<string, unknown>>;

const noOtherFile: OpenFile = (reference) => {
  throw new CompareError(reference, 'is another file', 'Use one file.');
};

export function documentsOf(contract: unknown, name = 'contract'): Documents {
  return new Documents({ name, root: contract }, noOtherFile);
}

/** The findings. Identical subtrees are compared as well, so that skipping them cannot hide a finding. */
export function findingsBetween(old: unknown, now: unknown): Finding[] {
  const [before, after] = [documentsOf(old, 'old'), documentsOf(now, 'new')];
  const closely = findingsOf(compareContracts(before, after, defaultLevelOf, {}, { areIdentical: () => false }));
  const findings = findingsOf(compareContracts(before, after, defaultLevelOf));
  expect(told(findings)).toEqual(told(closely));
  return findings;
}

/** What a change is, however the contract is written down. */
export function told(findings: readonly Finding[]): string[] {
  return findings.map(({ rule, sentence }) => `${rule}: ${sentence}`).sort();
}

export function rulesAmong(findings: readonly Finding[]): string[] {
  return findings.map(({ rule }) => rule).sort();
}

/** A contract with one route that takes what fulfils a schema, or gives it. */
export function contractOf(
  direction: 'request' | 'response',
  schema: unknown,
  schemas: Json = {},
  openapi = '3.1.0',
): Json {
  const content = { 'application/json': { schema } };
  const operation =
    direction === 'request'
      ? { requestBody: { required: true, content }, responses: { 204: { description: 'done' } } }
      : { responses: { 200: { description: 'fine', content } } };
  const method = direction === 'request' ? 'post' : 'get';
  return {
    openapi,
    info: { title: 'drinks', version: '1.0.0' },
    paths: { '/drinks': { [method]: operation } },
    components: { schemas },
  };
}

/** With one parameter, of which `name` and `in` go without saying. */
export function contractWithParameter(parameter: Json, openapi = '3.1.0'): Json {
  return {
    openapi,
    info: { title: 'drinks', version: '1.0.0' },
    paths: {
      '/drinks': {
        get: { parameters: [{ name: 'q', in: 'query', ...parameter }], responses: { 204: { description: 'done' } } },
      },
    },
  };
}
