/** What Compose makes of a value with variables in it. */
export interface Interpolated {
  readonly text: string;
  /** Variables that are set nowhere; Compose warns of them, and puts nothing in their place. */
  readonly unset: readonly string[];
  /** Variables that Compose does not start without; `opaque` stands in their place. */
  readonly missing: readonly Missing[];
  /** What else Compose refuses to start for. */
  readonly problems: readonly string[];
}

export interface Missing {
  readonly name: string;
  /** The text after `:?`, which Compose prints. */
  readonly reason: string;
}

/** A value that somebody has yet to set. It is fit for a token and for the host of a URL, and equal to no real one. */
export const opaque = 'value-that-is-still-to-be-set';

export type Variables = Readonly<Record<string, string | undefined>>;

const plain = /^[A-Za-z_]\w*/;
// Far deeper than anybody nests defaults, and far from the end of the stack.
const deepest = 50;

/**
 * `$NAME`, `${NAME}`, and the operators `:-` `-` `:?` `?` `:+` `+`. It differs from what a routes.yaml reads in that
 * a variable which is not set counts as empty, and a lone dollar sign as itself.
 */
export function interpolate(input: string, variables: Variables): Interpolated {
  const unset: string[] = [];
  const missing: Missing[] = [];
  const problems: string[] = [];
  const replace = (text: string, depth: number): string => {
    let out = '';
    let rest = text;
    for (let dollar = rest.indexOf('$'); dollar !== -1; dollar = rest.indexOf('$')) {
      out += rest.slice(0, dollar);
      rest = rest.slice(dollar + 1);
      const name = plain.exec(rest)?.[0];
      if (rest.startsWith('{')) {
        const end = closing(rest);
        out += end === -1 || depth === deepest ? malformed() : braced(rest.slice(1, end), depth);
        rest = end === -1 ? '' : rest.slice(end + 1);
      } else {
        out += name === undefined ? '$' : lookUp(name);
        rest = rest.slice(name?.length ?? (rest.startsWith('$') ? 1 : 0));
      }
    }
    return out + rest;
  };
  const braced = (inner: string, depth: number): string => {
    const name = plain.exec(inner)?.[0] ?? '';
    const [, colon, operator = '', word = ''] = /^(:?)([-?+])(.*)$/s.exec(inner.slice(name.length)) ?? [];
    if (name === '' || (operator === '' && inner !== name)) return malformed();
    if (operator === '') return lookUp(name);
    const value = given(variables, name);
    const isGiven = value !== undefined && (colon === '' || value !== '');
    if (operator === '+') return isGiven ? replace(word, depth + 1) : '';
    if (isGiven) return value;
    if (operator === '-') return replace(word, depth + 1);
    missing.push({ name, reason: word.trim() });
    return opaque;
  };
  const lookUp = (name: string): string => {
    const value = given(variables, name);
    if (value === undefined) unset.push(name);
    return value ?? '';
  };
  const malformed = (): string => {
    problems.push('This is no variable as Compose knows them.');
    return '';
  };
  return { text: replace(input, 0), unset, missing, problems };
}

/** Names such as `constructor` are no variables because every object has them. */
function given(variables: Variables, name: string): string | undefined {
  return Object.hasOwn(variables, name) ? variables[name] : undefined;
}

/** Where the brace that opens `text` is closed; -1 if it never is. */
function closing(text: string): number {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '{' && (at === 0 || text[at - 1] === '$')) depth += 1;
    if (text[at] === '}') depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}
