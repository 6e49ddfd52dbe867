/** A segment of a path template that has parameters. */
export interface SegmentPattern {
  /** The text before, between and after the parameters: one more than there are names. */
  readonly literals: readonly string[];
  readonly names: readonly string[];
}

const parameter = /\{([^{}]*)\}/g;

/** `drinks/7` and `/drinks/7` have the same segments. */
export function segmentsOf(path: string): string[] {
  return path.slice(path.startsWith('/') ? 1 : 0).split('/');
}

// Patterns are compiled once. The cache is limited, because every edit of a contract may add new ones.
const patterns = new Map<string, SegmentPattern | undefined>();
const maxPatterns = 10_000;

/** The pattern of a template's segment; undefined if it has no parameter. */
export function segmentPattern(segment: string): SegmentPattern | undefined {
  if (!segment.includes('{')) return undefined;
  const known = patterns.get(segment);
  if (known !== undefined || patterns.has(segment)) return known;
  const pattern = compile(segment);
  if (patterns.size >= maxPatterns) patterns.clear();
  patterns.set(segment, pattern);
  return pattern;
}

function compile(segment: string): SegmentPattern | undefined {
  const names = [...segment.matchAll(parameter)].map(([, name = '']) => name);
  return names.length === 0 ? undefined : { names, literals: segment.split(/\{[^{}]*\}/) };
}

/**
 * The values of a segment's parameters, none of them empty; undefined if it does not match. Searches each literal once,
 * from the end of the last one: a regular expression could take exponential time on a path that a client chooses.
 */
export function valuesIn(segment: string, { literals }: SegmentPattern): string[] | undefined {
  const [first = '', ...others] = literals;
  if (!segment.startsWith(first)) return undefined;
  const values: string[] = [];
  let at = first.length;
  for (const [index, literal] of others.entries()) {
    const isLast = index === others.length - 1;
    const end = isLast ? segment.length - literal.length : segment.indexOf(literal, at + 1);
    if (end <= at || !segment.startsWith(literal, end)) return undefined;
    values.push(segment.slice(at, end));
    at = end + literal.length;
  }
  return values;
}

/**
 * The template `to` with the parameter values of `path`, which matches the template `from`. A parameter that `from` does
 * not have takes the next value without a counterpart; undefined if there is none.
 */
export function translatePath(path: string, from: string, to: string): string | undefined {
  const values = valuesOf(path, from);
  const wanted = new Set([...to.matchAll(parameter)].map(([, name = '']) => name));
  const unnamed = values.filter(([name]) => !wanted.has(name)).map(([, value]) => value);
  const named = new Map(values);
  let complete = true;
  const filled = to.replace(parameter, (_whole, name: string) => {
    const value = named.get(name) ?? unnamed.shift();
    if (value === undefined) complete = false;
    else named.set(name, value);
    return value ?? '';
  });
  return complete ? filled : undefined;
}

function valuesOf(path: string, template: string): [name: string, value: string][] {
  const segments = segmentsOf(path);
  return segmentsOf(template).flatMap((segment, index) => {
    const pattern = segmentPattern(segment);
    const found = (pattern && valuesIn(segments[index] ?? '', pattern)) ?? [];
    return found.map((value, position): [string, string] => [pattern?.names[position] ?? '', value]);
  });
}

/** `/v1/drinks` → `/drinks`: some contracts repeat their own version in their paths. */
export function withoutVersion(path: string, version: string): string {
  if (path === `/${version}`) return '/';
  return path.startsWith(`/${version}/`) ? path.slice(version.length + 1) : path;
}
