import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Direction } from '../../../../gateway/contract/routes.ts';
import type { Change, Effects } from '../../../../gateway/contracts/compat/diff/change.ts';
import { predicateOf, type RuleId, ruleFor, rules } from '../../../../gateway/contracts/compat/rules/rules.ts';
import { looksRenamedPhrase } from '../../../../gateway/contracts/compat/rules/words.ts';
import { findingsBetween } from '../support/comparing.ts';
import { contractPairs, pathOf, withExpected } from '../support/contractPairs.ts';

const pairs = contractPairs();
// Reported for two majors as a whole, so that no pair of contracts shows it.
const withoutPair: ReadonlySet<RuleId> = new Set(['major-without-breaking-change']);

describe('a pair of contracts', () => {
  // `npx vitest run test/contracts/compat/rules -u` writes the findings into the fixtures.
  it.each(pairs)('$name has the expected findings', async ({ name, old, new: now }) => {
    const findings = findingsBetween(parse(old), parse(now));
    const lines = findings.map(
      ({ level, rule, sentence, renamedTo }) =>
        `${level} ${rule}: ${sentence}${renamedTo === undefined ? '' : ` (${looksRenamedPhrase(renamedTo)})`}\n`,
    );
    await expect(withExpected(name, lines.join(''))).toMatchFileSnapshot(`../../../../${pathOf(name)}`);
    expect(findings.map(({ rule }) => rule)).toContain(ruleOf(name));
  });

  it.each(pairs)('$name has a fingerprint of its own for each finding', ({ old, new: now }) => {
    const fingerprints = findingsBetween(parse(old), parse(now)).map(({ fingerprint }) => fingerprint);
    expect(new Set(fingerprints).size).toBe(fingerprints.length);
    for (const fingerprint of fingerprints) expect(fingerprint).toMatch(/^[0-9a-f]{16}$/);
  });
});

function ruleOf(name: string): string {
  return name.split('.', 1)[0] ?? '';
}

describe('the rules', () => {
  it.each(rules.map(({ id }) => id).filter((id) => !withoutPair.has(id)))(
    '%s is shown by a pair of contracts',
    (id) => {
      expect(pairs.map(({ name }) => ruleOf(name))).toContain(id);
    },
  );

  it('have no pairs for unknown rules', () => {
    const known = new Set<string>(rules.map(({ id }) => id));
    expect(pairs.map(({ name }) => ruleOf(name)).filter((id) => !known.has(id))).toEqual([]);
  });
});

const [in_, out] = ['request', 'response'] as const;
const both = [in_, out] as const;
const none = [undefined] as const;

/** All possible changes, and their directions. `satisfies` makes a missing effect a type error. */
const possible = {
  route: { added: none, removed: none },
  path_name: { changed: none },
  base_path: { changed: none },
  parameter: { added: none, added_required: none, removed: none, required: none, optional: none },
  serialization: { changed: both },
  body: { added: none, added_required: none, removed: none, required: none, optional: none },
  media_type: { added: both, removed: both },
  status: { added: none, removed: none },
  error_status: { added: none, removed: none },
  header: { added: [out], removed: [out], required: [out], optional: [out] },
  security: { changed: [in_] },
  docs: { changed: none },
  type: { wider: both, narrower: both, changed: both },
  null: { added: both, removed: both },
  field: { added: both, added_required: both, removed: both, refused: [in_] },
  presence: { required: both, optional: both },
  value: { added: both, removed: both },
  values: { listed: both, unlisted: both },
  limit: { wider: both, narrower: both, changed: both },
  alternative: { added: both, removed: both },
  structure: { changed: both, equivalent: both },
  default: { changed: [in_] },
} as const satisfies { [K in keyof Effects]: Record<Effects[K], readonly (Direction | undefined)[]> };

const changes = Object.entries(possible).flatMap(([kind, effects]) =>
  Object.entries<readonly (Direction | undefined)[]>(effects).flatMap(([effect, directions]) =>
    directions.map((direction) => ({ kind, effect, direction, name: 'x', old: undefined, new: undefined }) as Change),
  ),
);

const keysOf = ({ kind, effect, direction }: Change): string[] => [
  `${kind} ${effect}`,
  `${direction} ${kind} ${effect}`,
];

describe('every change', () => {
  it.each(changes.map((change) => [`${change.kind} ${change.effect} ${change.direction ?? ''}`, change] as const))(
    'is covered by exactly one rule: %s',
    (_name, change) => {
      const covering = rules.filter((rule) => keysOf(change).some((key) => Object.hasOwn(rule.changes, key)));
      expect(covering.map(({ id }) => id)).toEqual([ruleFor(change).id]);
      expect(predicateOf(change)).not.toBe('');
      const { direction } = ruleFor(change);
      if (direction !== 'either' && change.direction !== undefined) expect(direction).toBe(change.direction);
    },
  );

  it('that a rule names is possible', () => {
    const known = new Set(changes.flatMap(keysOf));
    expect(rules.flatMap((rule) => Object.keys(rule.changes)).filter((key) => !known.has(key))).toEqual([]);
  });
});

/** What a change is if the old and the new contract are exchanged. Several effects: it depends on the contracts. */
const inverses: { readonly [K in Effects[keyof Effects]]: readonly Effects[keyof Effects][] } = {
  added: ['removed', 'refused'],
  added_required: ['removed', 'refused'],
  removed: ['added', 'added_required'],
  refused: ['added', 'added_required'],
  required: ['optional'],
  optional: ['required'],
  wider: ['narrower'],
  narrower: ['wider'],
  listed: ['unlisted'],
  unlisted: ['listed'],
  changed: ['changed'],
  equivalent: ['equivalent'],
};

describe('symmetry', () => {
  const described = ({ kind, effect, direction }: Pick<Change, 'kind' | 'effect' | 'direction'>): string =>
    `${direction ?? ''} ${kind} ${effect}`.trim();
  // What a request may no longer contain breaks its clients. What a response may newly contain breaks only some of them.
  const onlySomeClients = ['value removed', 'values listed', 'limit narrower', 'limit changed', 'alternative removed'];

  // What one contract says with a field, a status or an alternative, the other says with a range, a condition or an open map. Then the
  // words of one direction are more exact than those of the other.
  const toldInTwoWays: ReadonlySet<string> = new Set([
    'docs-only.first-servers',
    'param-relaxed.range-of-values',
    'response-field-removed.closed-map',
    'response-field-removed.media-range',
    'response-field-removed.merged',
    'response-field-removed.nothing',
    'response-field-removed.status-range',
    'response-field-removed.then',
    'response-field-weakened.dependent-required',
    'response-field-weakened.then',
    'response-field-weakened.tuple',
    'response-strengthened.status-range',
    'response-type-changed.alternative',
    'response-type-changed.map',
    'status-removed.default',
    'structure-changed.alternatives-appear',
    'structure-changed.any-of-becomes-one-of',
    'structure-changed.one-of-overlaps',
    'structure-equivalent.one-of-becomes-any-of',
  ]);

  it('the request and the response of a schema have opposite rules', () => {
    const schemaKinds = new Set(['type', 'null', 'value', 'values', 'limit', 'alternative', 'presence']);
    const requestChanges = changes.filter(({ kind, direction }) => schemaKinds.has(kind) && direction === 'request');
    expect(requestChanges).toHaveLength(16);
    for (const change of requestChanges) {
      const { level } = ruleFor(change);
      const opposites = changes.filter(
        ({ kind, effect, direction }) =>
          kind === change.kind && direction === 'response' && inverses[change.effect].includes(effect),
      );
      expect(opposites, described(change)).toHaveLength(1);
      const expected = onlySomeClients.includes(`${change.kind} ${change.effect}`) ? 'warn' : level;
      expect(
        opposites.map((one) => ruleFor(one).level),
        described(change),
      ).toEqual([expected]);
    }
  });

  it('is not known for pairs that do not exist', () => {
    expect(pairs.map(({ name }) => name)).toEqual(expect.arrayContaining([...toldInTwoWays]));
  });

  it.each(pairs.filter(({ name }) => !toldInTwoWays.has(name)))(
    '$name, read backwards, has the opposite changes',
    ({ old, new: now }) => {
      const changesOf = (from: string, to: string) =>
        findingsBetween(parse(from), parse(to)).flatMap(({ collectedChange }) => collectedChange?.change ?? []);
      const remaining = changesOf(now, old);
      for (const { kind, effect } of changesOf(old, now)) {
        const at = remaining.findIndex((one) => one.kind === kind && inverses[effect].includes(one.effect));
        expect(at, `${kind} ${effect}, among ${remaining.map(described).join(', ')}`).toBeGreaterThanOrEqual(0);
        remaining.splice(at, 1);
      }
      expect(remaining.map(described)).toEqual([]);
    },
  );
});
