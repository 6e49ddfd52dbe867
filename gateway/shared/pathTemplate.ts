/** What a segment of a path has to look like, and the names of the parameters in it. */
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

// A pattern is compiled once. Contracts that are edited again and again bring new ones, so the cache has a limit.
const patterns = new Map<string, SegmentPattern | undefined>();
const mostPatterns = 10_000;

/** Of a segment of a template; undefined for one without a parameter. */
export function segmentPattern(segment: string): SegmentPattern | undefined {
  if (!segment.includes('{')) return undefined;
  const known = patterns.get(segment);
  if (known !== undefined || patterns.has(segment)) return known;
  const pattern = compile(segment);
  if (patterns.size >= mostPatterns) patterns.clear();
  patterns.set(segment, pattern);
  return pattern;
}

function compile(segment: string): SegmentPattern | undefined {
  const names = [...segment.matchAll(parameter)].map(([, name = '']) => name);
  return names.length === 0 ? undefined : { names, literals: segment.split(/\{[^{}]*\}/) };
}

/**
 * The values of a segment's parameters, none of them empty; undefined where it does not fit. Each literal is looked for
 * once, from where the last one ended: a regular expression would try every way to divide a client's path.
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
 * `to`, with the values that `path` has for the parameters of `from`, which fits it. A parameter that `from` does not
 * name takes the next value that no name has taken. Undefined where there is none left.
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

/** `/v1/drinks` in a contract of `v1` means `/drinks`: some write their own version into their paths. */
export function withoutVersion(path: string, version: string): string {
  if (path === `/${version}`) return '/';
  return path.startsWith(`/${version}/`) ? path.slice(version.length + 1) : path;
}
