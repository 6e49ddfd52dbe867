import { afterEach, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { compareContracts } from '../../../../gateway/contracts/compat/diff/contracts.ts';
import {
  comparableName,
  type Finding,
  findingsOf,
  similarity,
} from '../../../../gateway/contracts/compat/judge/findings.ts';
import { defaultLevelOf } from '../../../../gateway/contracts/compat/rules/rules.ts';
import { temporaryFolder } from '../../../config/temporary.ts';
import { open, write } from '../../../contract/document/openContract.ts';
import { contractOf, findingsBetween } from '../support/comparing.ts';
import { contractPairs } from '../support/contractPairs.ts';

const words = '../../../../gateway/contracts/compat/rules/words.ts';

/** The findings of every pair of contracts, in both directions, by a fresh copy of the modules. */
async function allFindings(): Promise<Finding[]> {
  vi.resetModules();
  const { findingsBetween } = await import('../support/comparing.ts');
  return contractPairs().flatMap(({ old, new: now }) => {
    const [before, after] = [parse(old), parse(now)];
    return [...findingsBetween(before, after), ...findingsBetween(after, before)];
  });
}

describe('a fingerprint', () => {
  afterEach(() => vi.doUnmock(words));

  it('does not depend on the wording of the finding', async () => {
    const usual = await allFindings();
    vi.doMock(words, async (original) =>
      Object.fromEntries(Object.keys(await original<object>()).map((name) => [name, () => 'other words'])),
    );
    const reworded = await allFindings();
    const differing = usual.filter(({ sentence }, index) => sentence !== reworded[index]?.sentence);
    expect(differing).toHaveLength(usual.length);
    expect(reworded.map(({ fingerprint }) => fingerprint)).toEqual(usual.map(({ fingerprint }) => fingerprint));
  });

  it('differs if the cause of another structure differs', async () => {
    const { contractOf, findingsBetween } = await import('../support/comparing.ts');
    const objectWith = (type: string): object => ({ type: 'object', properties: { a: { type } }, required: ['a'] });
    const old = contractOf('request', objectWith('string'));
    const prints = ['integer', 'array'].map((type) => {
      const now = contractOf('request', { oneOf: [objectWith(type), { type: 'boolean' }] });
      const [finding] = findingsBetween(old, now);
      expect(finding?.rule).toBe('structure-changed');
      return finding?.fingerprint;
    });
    const another = contractOf('request', { oneOf: [{ type: 'object', required: ['b'] }, { type: 'boolean' }] });
    prints.push(findingsBetween(old, another)[0]?.fingerprint);
    // A changed type is the cause in the first two, a required field in the third.
    expect(prints[0]).toBe(prints[1]);
    expect(prints[0]).not.toBe(prints[2]);
  });
});

it('are told apart if they are at the same pointer of different files', async () => {
  const contractIn = (drinkType: string, barType: string) => {
    const folder = temporaryFolder();
    const fields = { drink: { $ref: 'Drink.yaml' }, bar: { $ref: 'Bar.yaml' } };
    write(folder, {
      'api.yaml': JSON.stringify(contractOf('response', { type: 'object', properties: fields })),
      'Drink.yaml': `{ type: object, properties: { price: { type: ${drinkType} } } }`,
      'Bar.yaml': `{ type: object, properties: { price: { type: ${barType} } } }`,
    });
    return open('api.yaml', folder);
  };
  const [old, now] = [await contractIn('string', 'string'), await contractIn('integer', 'boolean')];
  const findings = findingsOf(compareContracts(old, now, defaultLevelOf));
  expect(findings.map(({ sentence, new: site }) => [sentence, site?.place.file.name.replace(/^.*\//, '')])).toEqual([
    ['GET /drinks: response 200 field `drink.price` was a string and is now an integer', 'Drink.yaml'],
    ['GET /drinks: response 200 field `bar.price` was a string and is now a boolean', 'Bar.yaml'],
  ]);
  expect(new Set(findings.map(({ fingerprint }) => fingerprint)).size).toBe(2);
});

const [text, amount] = [{ type: 'string' }, { type: 'number' }];

function renamesBetween(old: object, now: object): (string | undefined)[] {
  const [before, after] = [old, now].map((properties) => contractOf('response', { type: 'object', properties }));
  return findingsBetween(before, after)
    .filter(({ rule }) => rule === 'response-field-removed')
    .map(({ renamedTo }) => renamedTo);
}

describe('a removed field, with', () => {
  it.each([
    ['another spelling', { drink_name: text }, { drinkName: text }, 'drinkName'],
    ['a similar name', { total: amount }, { totals: amount }, 'totals'],
    ['several similar names', { price: text }, { prices: text, priced_at: text }, 'prices'],
    ['no similar name', { price: amount }, { colour: text }, undefined],
    ['nothing added', { price: amount, name: text }, { name: text }, undefined],
  ])('%s', (_what, old, now, name) => {
    expect(renamesBetween(old, now)).toEqual([name]);
  });
});

describe('in a request that accepts no other fields, a removed field', () => {
  const renamesIn = (old: object, now: object): (readonly [string, string | undefined])[] => {
    const [before, after] = [old, now].map((properties) =>
      contractOf('request', { type: 'object', properties, additionalProperties: false }),
    );
    const removals = findingsBetween(before, after).filter((one) => one.old !== undefined && one.new === undefined);
    return removals.map(({ subject, renamedTo }) => [subject.replace(/.*`(.*)`$/, '$1'), renamedTo]);
  };

  it('may have been renamed', () =>
    expect(renamesIn({ drink_name: text }, { drinkName: text })).toEqual([['drink_name', 'drinkName']]));

  it('was not renamed to another removed field', () => {
    const onlyInResponses = { ...text, readOnly: true };
    expect(renamesIn({ drink_name: text, drinkName: text }, { drink_name: onlyInResponses })).toEqual(
      expect.arrayContaining([
        ['drink_name', undefined],
        ['drinkName', undefined],
      ]),
    );
  });
});

describe('a removed route, with', () => {
  const contract = (path: string, method: string, operationId?: string) => ({
    openapi: '3.1.0',
    paths: { [path]: { [method]: { operationId, responses: {} } } },
  });

  it.each([
    ['a similar path', contract('/drinks', 'get'), contract('/api/drinks', 'get'), 'GET /api/drinks'],
    ['the same operationId', contract('/a', 'get', 'list'), contract('/menu', 'get', 'list'), 'GET /menu'],
    ['another method', contract('/drinks', 'get'), contract('/drinks', 'post'), undefined],
    ['no similar name', contract('/drinks', 'get'), contract('/menu', 'get'), undefined],
  ])('%s', (_what, old, now, name) => {
    const [removed] = findingsBetween(old, now);
    expect(removed?.rule).toBe('route-removed');
    expect(removed?.renamedTo).toBe(name);
  });
});

describe('similarity', () => {
  it.each([
    ['drink_name', 'drinkName', 1],
    ['', '', 1],
    ['a', 'b', 0],
    ['night', 'nacht', 0.25],
  ])('of %j and %j is %d', (a, b, expected) => {
    expect(similarity(comparableName(a), comparableName(b))).toBe(expected);
    expect(similarity(comparableName(b), comparableName(a))).toBe(expected);
  });
});
