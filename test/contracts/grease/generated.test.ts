import { expect, it } from 'vitest';
import { greasePlanOf } from '../../../gateway/contracts/grease/greasePlan.ts';
import { linkedNodes, withUnknownMembers } from '../../../gateway/contracts/grease/splice.ts';
import { cases } from '../../support/cases.ts';
import { Random } from '../../support/random.ts';

type Schema = Readonly<Record<string, unknown>>;

/** A value with the number of unknown members that each of its objects must get: 1 or 0; undefined: both are right. */
interface Expected {
  readonly value: unknown;
  readonly objects: ReadonlyMap<object, 0 | 1 | undefined>;
}

interface Generated extends Expected {
  readonly schema: Schema;
}

const source = new Random(20_270_201);
const random = (below: number): number => source.below(below);
const names = ['a', 'b', 'é', 'x"y', '__proto__', 'constructor', 'items', 'x_grease_none'];
const kinds = ['open', 'open', 'closed', 'map', 'free', 'described map', 'limited'] as const;

function generate(depth: number): Generated {
  const choice = random(depth > 3 ? 2 : 10);
  if (choice < 2) return scalar();
  if (choice === 2) return list(depth);
  if (choice === 3) return union(depth);
  if (choice === 4) return intersection(depth);
  return object(depth, kinds[random(kinds.length)] ?? 'open');
}

function scalar(): Generated {
  const values = [
    [{ type: 'string' }, 'a"}{é\\'],
    [{ type: 'number' }, -1.5e10],
    [{ type: ['boolean', 'null'] }, null],
  ] as const;
  const [schema, value] = values[random(values.length)] ?? values[0];
  return { schema, value, objects: new Map() };
}

function list(depth: number): Generated {
  const item = generate(depth + 1);
  const value = Array.from({ length: random(3) }, () => item.value);
  return { schema: { type: 'array', items: item.schema }, value, objects: item.objects };
}

function object(depth: number, kind: (typeof kinds)[number]): Generated {
  const fields = names.filter(() => random(3) === 0).map((name) => [name, generate(depth + 1)] as const);
  const other = generate(depth + 1);
  const isMap = kind === 'map' || kind === 'described map';
  const hasProperties = fields.length > 0 && kind !== 'map' && kind !== 'free';
  const members = fields.map(([name, field]) => [name, kind === 'map' ? other.value : field.value] as const);
  const value = Object.fromEntries(members);
  const inner = kind === 'free' ? [] : kind === 'map' ? [other] : fields.map(([, field]) => field);
  const schema: Schema = {
    type: 'object',
    ...(hasProperties ? { properties: Object.fromEntries(fields.map(([name, field]) => [name, field.schema])) } : {}),
    ...(kind === 'closed' ? { additionalProperties: false } : {}),
    ...(isMap ? { additionalProperties: other.schema } : {}),
    ...(kind === 'limited' ? { maxProperties: 20 } : {}),
  };
  const own = kind === 'open' && hasProperties ? 1 : 0;
  // Nothing describes the values within a free object.
  const below =
    kind === 'free'
      ? new Map(fields.flatMap(([, field]) => [...field.objects.keys()]).map((one) => [one, 0 as const]))
      : merged(inner);
  return { schema, value, objects: new Map([...below, [value, own]]) };
}

/** The value is one of the first alternative. What the others say decides, too, so only objects without a member are certain. */
function union(depth: number): Generated {
  const [first, second] = [generate(depth + 1), generate(depth + 1)];
  const objects = new Map([...first.objects].map(([one, count]) => [one, count === 0 ? 0 : undefined] as const));
  return { schema: { oneOf: [first.schema, second.schema] }, value: first.value, objects };
}

function intersection(depth: number): Generated {
  const first = object(depth, 'open');
  const other =
    random(2) === 0 ? { type: 'object', properties: { z: { type: 'string' } } } : { additionalProperties: false };
  const isClosed = 'additionalProperties' in other;
  const objects = new Map(first.objects);
  objects.set(first.value as object, isClosed ? 0 : 1);
  return { schema: { allOf: [first.schema, other] }, value: first.value, objects };
}

function merged(all: readonly Expected[]): Map<object, 0 | 1 | undefined> {
  return new Map(all.flatMap(({ objects }) => [...objects]));
}

/** Compares both values, and counts the unknown members of each object. */
function compare(before: unknown, after: unknown, { objects }: Expected): void {
  if (typeof before !== 'object' || before === null) {
    expect(after).toBe(before);
    return;
  }
  if (Array.isArray(before)) {
    for (const [index, item] of before.entries()) compare(item, (after as unknown[])[index], { value: item, objects });
    return;
  }
  const [own, present] = [Object.entries(before), new Map(Object.entries(after as object))];
  for (const [name, value] of own) compare(value, present.get(name), { value, objects });
  const unknown = present.size - own.length;
  const count = objects.get(before);
  if (unknown > 1 || (count !== undefined && unknown !== count))
    throw new Error(`${unknown} unknown members, not ${count}`);
}

const rounds = cases(1_200, 10_000);

it(`never changes maps and closed objects, and always open ones, over ${rounds} generated schemas`, () => {
  let changed = 0;
  for (let round = 0; round < rounds; round += 1) {
    const generated = generate(0);
    const plan = greasePlanOf(
      [['/', new Map([['200', { content: { 'application/json': { schema: generated.schema } } }]])]],
      {},
    );
    const node = plan.routes[0]?.[1][0]?.[1][0]?.[1] ?? -1;
    const root = linkedNodes(plan)[node];
    const body = JSON.stringify(generated.value, null, random(3));
    const result = root && withUnknownMembers(Buffer.from(body), root, plan.takenNames)?.toString();
    if (result !== undefined) {
      changed += 1;
      expect(result.replace(/,?"x_grease_[0-9a-f]{4}":true/g, '')).toBe(body);
    }
    try {
      compare(generated.value, JSON.parse(result ?? body), generated);
    } catch (error) {
      throw new Error(`${JSON.stringify(generated.schema)}\n${body}\n${result}`, { cause: error });
    }
  }
  expect(changed).toBeGreaterThan(rounds / 5);
});

it('adds no member to a type of which a subtype refers to it through another name, and is closed', () => {
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const planOf = (additionalProperties: Schema | boolean) =>
    greasePlanOf([['/', new Map([['200', { content: { 'application/json': { schema: ref('Pet') } } }]])]], {
      Pet: { type: 'object', properties: { kind: { type: 'string' } }, discriminator: { propertyName: 'kind' } },
      OwnPet: { ...ref('Pet'), minProperties: 1 },
      Cat: { allOf: [ref('OwnPet')], properties: { kind: { type: 'string' } }, additionalProperties },
    });
  expect(planOf({ type: 'integer' }).nodes).toEqual([]);
  expect(planOf(true).nodes).not.toEqual([]);
});
