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
