import type { Direction } from '../change.ts';
import { isList } from '../document/located.ts';
import type { Schema } from '../schema/schema.ts';
import { valueAt } from './values.ts';

export interface Made {
  readonly value: unknown;
  /** False: all of it is an example, a default or a value that the contract lists. */
  readonly isMadeUp: boolean;
  /** What it consists of, where that was made piece by piece. */
  readonly fields?: ReadonlyMap<string, Made>;
  readonly item?: Made;
}

/** What stands below a key; of a list, its item. */
export function partOf(made: Made | undefined, key: string): Made | undefined {
  const part = key.startsWith('[') ? (made?.item ?? made?.fields?.get(key)) : made?.fields?.get(key);
  const value = valueAt(made?.value, [key]);
  return part ?? (made && value !== undefined ? { value, isMadeUp: made.isMadeUp } : undefined);
}

// Enough to show what a thing looks like; a schema may be endless.
const deepest = 6;
const mostFields = 60;

const formats: Readonly<Record<string, string>> = {
  'date-time': '2030-01-31T12:00:00Z',
  date: '2030-01-31',
  time: '12:00:00Z',
  uuid: '00000000-0000-4000-8000-000000000000',
  email: 'somebody@example.com',
  uri: 'https://example.com/',
  'uri-reference': '/path',
};

/** A value that fulfils a schema, or nearly: its example, its default, what it lists, or something of its type. */
export function madeFrom(schema: Schema, direction: Direction, above: readonly Schema[] = []): Made | undefined {
  if (above.includes(schema) || above.length > deepest) return undefined;
  const said = saidBy(schema);
  if (said) return said;
  const { view } = schema;
  const [first] = view.values?.values() ?? [];
  if (first) return { value: first.value, isMadeUp: false };
  const within = [...above, schema];
  const [choice] = view.choices[0]?.alternatives ?? [];
  const chosen = choice && madeFrom(choice.schema, direction, within);
  if (view.types?.has('object') || view.properties.size > 0) return objectFrom(schema, chosen, direction, within);
  if (chosen) return chosen;
  if (view.types?.has('array')) {
    const item = view.items && madeFrom(view.items.schema, direction, within);
    return { value: item ? [item.value] : [], isMadeUp: item?.isMadeUp ?? true, ...(item ? { item } : {}) };
  }
  return { value: scalarFrom(schema), isMadeUp: true };
}

function saidBy({ parts }: Schema): Made | undefined {
  for (const { map } of parts) {
    const { example, examples, default: byDefault } = map as Record<'example' | 'examples' | 'default', unknown>;
    const value = example ?? (isList(examples) ? examples[0] : undefined) ?? map['const'] ?? byDefault;
    if (value !== undefined) return { value, isMadeUp: false };
  }
  return undefined;
}

function objectFrom({ view }: Schema, base: Made | undefined, direction: Direction, within: readonly Schema[]): Made {
  const hidden = direction === 'request' ? 'readOnly' : 'writeOnly';
  const fields = [...view.properties].slice(0, mostFields).flatMap(([name, field]): [string, Made][] => {
    const made = field.has(hidden) ? undefined : madeFrom(field.schema, direction, within);
    return made ? [[name, made]] : [];
  });
  const own = Object.fromEntries(fields.map(([name, { value }]) => [name, value]));
  const isMadeUp =
    fields.some(([, made]) => made.isMadeUp) || base?.isMadeUp === true || (fields.length === 0 && !base);
  const all = new Map([...(base?.fields ?? []), ...fields]);
  return { value: { ...(typeof base?.value === 'object' ? base.value : {}), ...own }, isMadeUp, fields: all };
}

function scalarFrom({ view, parts }: Schema): unknown {
  const minimum = parts.map(({ map }) => map['minimum']).find((value) => typeof value === 'number');
  if (view.types?.has('string')) {
    const format = parts.map(({ map }) => map['format']).find((value) => typeof value === 'string') ?? '';
    return Object.hasOwn(formats, format) ? formats[format] : 'text';
  }
  if (view.types?.has('integer')) return minimum ?? 1;
  if (view.types?.has('number')) return minimum ?? 1.5;
  if (view.types?.has('boolean')) return true;
  return view.nullable ? null : 'any value';
}
