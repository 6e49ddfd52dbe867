/** A value with variables, written without quotes. `text`: with the variables replaced. `value`: that text, read as YAML. */
export class ExpandedText {
  readonly text: string;
  readonly value: unknown;
  /** As it is written in the file. */
  readonly written: string;

  constructor(text: string, value: unknown, written = text) {
    this.text = text;
    this.value = value;
    this.written = written;
  }
}

export interface Expansion {
  readonly text: string;
  readonly hasDollar: boolean;
  /** One for each faulty `$` in the text. */
  readonly problems: readonly { readonly message: string; readonly remedy: string }[];
}

const namePattern = /^[A-Za-z_][A-Za-z0-9_]*/;

/**
 * Expands `${NAME}`, `${NAME:-default}`, `${NAME-default}`, `$NAME` and `$$`. Defaults are expanded, too. Unlike in Compose, a
 * variable that is not set is a fault.
 */
export function expand(input: string, env: NodeJS.ProcessEnv): Expansion {
  const problems: { message: string; remedy: string }[] = [];
  const text = input.includes('$') ? substitute(input, env, problems) : input;
  return { text, hasDollar: input.includes('$'), problems };
}

function substitute(input: string, env: NodeJS.ProcessEnv, problems: { message: string; remedy: string }[]): string {
  let out = '';
  let rest = input;
  for (let dollar = rest.indexOf('$'); dollar !== -1; dollar = rest.indexOf('$')) {
    out += rest.slice(0, dollar);
    rest = rest.slice(dollar + 1);
    if (rest.startsWith('$')) {
      out += '$';
      rest = rest.slice(1);
    } else if (rest.startsWith('{')) {
      const end = closingBrace(rest);
      const isClosed = end < rest.length;
      out += isClosed ? expandBraced(rest.slice(1, end), env, problems) : reportMalformed(problems);
      rest = rest.slice(end + 1);
    } else {
      const variable = namePattern.exec(rest)?.[0] ?? '';
      out += variable === '' ? reportMalformed(problems) : lookUp(variable, env, problems);
      rest = rest.slice(variable.length);
    }
  }
  return out + rest;
}

function expandBraced(
  content: string,
  env: NodeJS.ProcessEnv,
  problems: { message: string; remedy: string }[],
): string {
  const name = namePattern.exec(content)?.[0] ?? '';
  const operator = /^(?::?-|$)/.exec(content.slice(name.length))?.[0];
  if (name === '' || operator === undefined) return reportMalformed(problems);
  if (operator === '') return lookUp(name, env, problems);
  const value = env[name];
  const isGiven = operator === ':-' ? value !== undefined && value !== '' : value !== undefined;
  return isGiven ? (value ?? '') : substitute(content.slice(name.length + operator.length), env, problems);
}

function lookUp(name: string, env: NodeJS.ProcessEnv, problems: { message: string; remedy: string }[]): string {
  const value = env[name];
  if (value === undefined) {
    problems.push({
      message: `The environment variable ${name} is not set.`,
      remedy: `Set it, or write \${${name}:-default}; a plain dollar sign is written $$.`,
    });
  }
  return value ?? '';
}

function reportMalformed(problems: { message: string; remedy: string }[]): string {
  const remedy = `Write \${NAME}, \${NAME:-default}, or $$ for a plain dollar sign.`;
  problems.push({ message: 'This $ is neither a variable nor escaped.', remedy });
  return '';
}

/** The index of the brace that closes the first one; the length of `text` if there is none. */
function closingBrace(text: string): number {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1;
    if (text[at] === '}') depth -= 1;
    if (depth === 0) return at;
  }
  return text.length;
}
