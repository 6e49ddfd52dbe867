import { parseDocument } from 'yaml';
import { Expanded, expand } from './expand.ts';
import type { Fault } from './fault.ts';
import type { Path } from './mask.ts';
import { faultAt, type Source } from './source.ts';

export interface Reading {
  readonly source: Source;
  readonly faults: Fault[];
  /** The text could not be parsed as a whole, so that nothing more can be said about it. */
  readonly broken: boolean;
}

/** Takes a plain object for what its YAML would be. Strings with an expansion count as unquoted. */
export function readObject(document: unknown, folder: string, env: NodeJS.ProcessEnv): Reading {
  const faults: Fault[] = [];
  const around: Source = { file: undefined, folder, tree: undefined, places: new Map() };
  const open = new Set<object>();

  const copy = (value: unknown, path: Path): unknown => {
    if (typeof value === 'string') {
      const scalar = expandScalar(value, true, env);
      faults.push(...scalar.problems.map(({ message, remedy }) => faultAt(around, path, message, remedy)));
      return scalar.value;
    }
    if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
    if (typeof value !== 'object' || open.has(value) || !isPlain(value)) {
      faults.push(
        faultAt(around, path, 'This is not something that YAML can say.', 'Give plain maps, lists and scalars.'),
      );
      return null;
    }
    open.add(value);
    const result = Array.isArray(value)
      ? value.map((item, index) => copy(item, [...path, index]))
      : mapOf(
          Object.entries(value).filter(([, item]) => item !== undefined),
          path,
          faults,
          around,
          copy,
        );
    open.delete(value);
    return result;
  };

  const tree = copy(document, []);
  return { source: { ...around, tree }, faults, broken: false };
}

function mapOf(
  entries: [string, unknown][],
  path: Path,
  faults: Fault[],
  around: Source,
  copy: (value: unknown, path: Path) => unknown,
): Record<string, unknown> {
  const result: Record<string, unknown> = Object.create(null);
  for (const [key, item] of entries) {
    if (key === '__proto__') faults.push(protoFault(around, path));
    else result[key] = copy(item, [...path, key]);
  }
  return result;
}

/** A key that no object may have: as a plain assignment it would change the object's prototype instead. */
export function protoFault(source: Source, path: Path): Fault {
  return faultAt(source, [...path, '__proto__'], 'There is no key __proto__.', 'Remove it.', 'key');
}

/** A scalar's text with its variables; without quotes it is read as YAML once more, so that `${N:-2}` is a number. */
export function expandScalar(text: string, unquoted: boolean, env: NodeJS.ProcessEnv) {
  const expansion = expand(text, env);
  const value =
    expansion.changed && unquoted ? new Expanded(expansion.text, resolve(expansion.text), text) : expansion.text;
  return { value, problems: expansion.problems };
}

function resolve(text: string): unknown {
  // Only numbers, booleans and null have another reading; anything else might not even be YAML.
  if (!/^[-+.\w~]*$/.test(text)) return text;
  const value: unknown = parseDocument(text, { logLevel: 'silent' }).toJS();
  return typeof value === 'object' && value !== null ? text : value;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === null || prototype === Object.prototype;
}
