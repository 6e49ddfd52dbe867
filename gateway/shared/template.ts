/** What a segment of a path has to look like, and the names of the parameters in it. */
export interface SegmentPattern {
  /** One group for each of `names`. */
  readonly regex: RegExp;
  readonly names: readonly string[];
  /** The segment is nothing but one parameter. */
  readonly isWhole: boolean;
}

const parameter = /\{([^{}]*)\}/g;

/** `drinks/7` and `/drinks/7` have the same segments. */
export function segmentsOf(path: string): string[] {
  return path.slice(path.startsWith('/') ? 1 : 0).split('/');
}

// Segments come from templates, which are few; a regular expression is not made twice.
const patterns = new Map<string, SegmentPattern | undefined>();

/** Of a segment of a template; undefined for one without a parameter. */
export function segmentPattern(segment: string): SegmentPattern | undefined {
  const known = patterns.get(segment);
  if (known !== undefined || patterns.has(segment)) return known;
  const pattern = compile(segment);
  patterns.set(segment, pattern);
  return pattern;
}

function compile(segment: string): SegmentPattern | undefined {
  const names = [...segment.matchAll(parameter)].map(([, name = '']) => name);
  if (names.length === 0) return undefined;
  const literals = segment.split(/\{[^{}]*\}/).map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return {
    regex: new RegExp(`^${literals.join('([^/]+?)')}$`),
    names,
    isWhole: /^\{[^{}]*\}$/.test(segment),
  };
}

/**
 * `to`, with the values that `path` has for the parameters of `from`, which fits it. A parameter that `from` does not
 * name takes the next value that no name has taken. Undefined where there is none left.
 */
export function transfer(path: string, from: string, to: string): string | undefined {
  const values = valuesOf(path, from);
  const wanted = new Set([...to.matchAll(parameter)].map(([, name = '']) => name));
  const unnamed = values.filter(([name]) => !wanted.has(name)).map(([, value]) => value);
  const named = new Map(values);
  let complete = true;
  const filled = to.replace(parameter, (_whole, name: string) => {
    const value = named.get(name) ?? unnamed.shift();
    complete &&= value !== undefined;
    return value ?? '';
  });
  return complete ? filled : undefined;
}

function valuesOf(path: string, template: string): [name: string, value: string][] {
  const segments = segmentsOf(path);
  return segmentsOf(template).flatMap((segment, index) => {
    const pattern = segmentPattern(segment);
    const groups = pattern?.regex.exec(segments[index] ?? '')?.slice(1) ?? [];
    return groups.map((value, group): [string, string] => [pattern?.names[group] ?? '', value]);
  });
}
