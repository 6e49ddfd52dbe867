/** A value with its variables replaced as Compose replaces them. */
export interface Interpolated {
  readonly text: string;
  /** Variables that are not set; Compose warns and replaces them with nothing. */
  readonly unset: readonly string[];
  /** Required variables that are not set. The text has `valuePlaceholder` in their place. */
  readonly requiredButUnset: readonly RequiredVariable[];
  /** Other errors. Compose rejects a file with such an error. */
  readonly problems: readonly string[];
}

export interface RequiredVariable {
  readonly name: string;
  /** The text after `:?`, which Compose prints. */
  readonly reason: string;
}

/** The placeholder for a variable without a value. It is valid as a token and as a host name, and no real value equals it. */
export const valuePlaceholder = 'value-that-is-still-to-be-set';

export type Variables = Readonly<Record<string, string | undefined>>;

const variableName = /^[A-Za-z_]\w*/;
// The deepest nesting of defaults. Real files nest less deeply, and this depth is far from a stack overflow.
const maxDepth = 50;

/**
 * Replaces `$NAME`, `${NAME}`, and the operators `:-` `-` `:?` `?` `:+` `+`. Unlike in a routes.yaml, a variable that is
 * not set counts as empty, and a lone dollar sign stays.
 */
export function interpolate(input: string, variables: Variables): Interpolated {
  const unset: string[] = [];
  const requiredButUnset: RequiredVariable[] = [];
  const problems: string[] = [];
  const replaceVariables = (text: string, depth: number): string => {
    let out = '';
    let rest = text;
    for (let dollar = rest.indexOf('$'); dollar !== -1; dollar = rest.indexOf('$')) {
      out += rest.slice(0, dollar);
      rest = rest.slice(dollar + 1);
      const name = variableName.exec(rest)?.[0];
      if (rest.startsWith('{')) {
        const end = closingBrace(rest);
        out += end === -1 || depth === maxDepth ? reportMalformed() : expandBraced(rest.slice(1, end), depth);
        rest = end === -1 ? '' : rest.slice(end + 1);
      } else {
        out += name === undefined ? '$' : lookUp(name);
        // `$$` is one dollar sign.
        rest = rest.slice(name?.length ?? (rest.startsWith('$') ? 1 : 0));
      }
    }
    return out + rest;
  };
  const expandBraced = (content: string, depth: number): string => {
    const name = variableName.exec(content)?.[0] ?? '';
    const [, colon, operator = '', operand = ''] = /^(:?)([-?+])(.*)$/s.exec(content.slice(name.length)) ?? [];
    if (name === '' || (operator === '' && content !== name)) return reportMalformed();
    if (operator === '') return lookUp(name);
    const value = ownValue(variables, name);
    // With a colon, an empty value counts as missing.
    const isGiven = value !== undefined && (colon === '' || value !== '');
    if (operator === '+') return isGiven ? replaceVariables(operand, depth + 1) : '';
    if (isGiven) return value;
    if (operator === '-') return replaceVariables(operand, depth + 1);
    requiredButUnset.push({ name, reason: operand.trim() });
    return valuePlaceholder;
  };
  const lookUp = (name: string): string => {
    const value = ownValue(variables, name);
    if (value === undefined) unset.push(name);
    return value ?? '';
  };
  const reportMalformed = (): string => {
    problems.push('This is not a valid variable of Compose.');
    return '';
  };
  return { text: replaceVariables(input, 0), unset, requiredButUnset, problems };
}

/** The value of a variable. Ignores inherited properties such as `constructor`. */
function ownValue(variables: Variables, name: string): string | undefined {
  return Object.hasOwn(variables, name) ? variables[name] : undefined;
}

/** The index of the brace that closes the first one; -1 if there is none. Only `${` opens a nested pair. */
function closingBrace(text: string): number {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '{' && (at === 0 || text[at - 1] === '$')) depth += 1;
    if (text[at] === '}') depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}
