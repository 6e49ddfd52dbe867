import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Change, Direction, Effects } from '../../../gateway/compat/diff/change.ts';
import { predicateOf, type RuleId, ruleFor, rules } from '../../../gateway/compat/rules/rules.ts';
import { renameInWords } from '../../../gateway/compat/rules/words.ts';
import { findingsBetween } from '../support/comparing.ts';

const folder = 'test/fixtures/compat';
const cases = readdirSync(folder).sort();
// It is about two majors as a whole, not about anything that differs between two contracts.
const untold: ReadonlySet<RuleId> = new Set(['major-without-breaking-change']);

function read(name: string, file: string): string {
  return readFileSync(`${folder}/${name}/${file}`, 'utf8');
}

describe('a pair of contracts', () => {
  it.each(cases)('%s tells exactly what is expected', (name) => {
    const findings = findingsBetween(parse(read(name, 'old.yaml')), parse(read(name, 'new.yaml')));
    const told = findings.map(
      ({ level, rule, sentence, renamedTo }) =>
        `${level} ${rule}: ${sentence}${renamedTo === undefined ? '' : ` (${renameInWords(renamedTo)})`}\n`,
    );
    expect(told.join('')).toBe(read(name, 'expected.txt'));
    expect(findings.map(({ rule }) => rule)).toContain(ruleOf(name));
  });

  it.each(cases)('%s has a fingerprint of its own for each finding', (name) => {
    const findings = findingsBetween(parse(read(name, 'old.yaml')), parse(read(name, 'new.yaml')));
    const fingerprints = findings.map(({ fingerprint }) => fingerprint);
    expect(new Set(fingerprints).size).toBe(fingerprints.length);
    for (const fingerprint of fingerprints) expect(fingerprint).toMatch(/^[0-9a-f]{16}$/);
  });
});

function ruleOf(name: string): string {
  return name.split('.', 1)[0] ?? '';
}

describe('the rules', () => {
  it.each(rules.map(({ id }) => id).filter((id) => !untold.has(id)))('%s is shown by a pair of contracts', (id) => {
    expect(cases.map(ruleOf)).toContain(id);
  });

  it('have no pairs for rules that are none', () => {
    const known = new Set<string>(rules.map(({ id }) => id));
    expect(cases.filter((name) => !known.has(ruleOf(name)))).toEqual([]);
  });
});

const [in_, out] = ['request', 'response'] as const;
const both = [in_, out] as const;
const none = [undefined] as const;

/** Everything that can be found, and in which directions: `satisfies` makes an effect that is left out an error. */
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

  it('is possible that a rule names', () => {
    const known = new Set(changes.flatMap(keysOf));
    expect(rules.flatMap((rule) => Object.keys(rule.changes)).filter((key) => !known.has(key))).toEqual([]);
  });
});
