/** A value that came from `${NAME}` without quotes: `text` as the variable has it, `value` as YAML reads that text. */
export class Expanded {
  readonly text: string;
  readonly value: unknown;
  /** As it stands in the file. */
  readonly written: string;

  constructor(text: string, value: unknown, written = text) {
    this.text = text;
    this.value = value;
    this.written = written;
  }
}

export interface Expansion {
  readonly text: string;
  /** False when the text had no `$` in it. */
  readonly changed: boolean;
  /** What is wrong, and what to do about it, one pair for each place. */
  readonly problems: readonly { readonly message: string; readonly remedy: string }[];
}

const name = /^[A-Za-z_][A-Za-z0-9_]*/;

/** `${NAME}`, `${NAME:-default}`, `${NAME-default}`, `$NAME` and `$$`, as Compose reads them; a default may hold others. */
export function expand(input: string, env: NodeJS.ProcessEnv): Expansion {
  const problems: { message: string; remedy: string }[] = [];
  const text = input.includes('$') ? substitute(input, env, problems) : input;
  return { text, changed: input.includes('$'), problems };
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
      const end = closing(rest);
      out += braced(rest.slice(1, end), env, problems);
      rest = rest.slice(end + 1);
    } else {
      const bare = name.exec(rest)?.[0] ?? '';
      out += bare === '' ? malformed(problems) : lookUp(bare, env, problems);
      rest = rest.slice(bare.length);
    }
  }
  return out + rest;
}

function braced(inner: string, env: NodeJS.ProcessEnv, problems: { message: string; remedy: string }[]): string {
  const key = name.exec(inner)?.[0] ?? '';
  const operator = /^(?::?-|$)/.exec(inner.slice(key.length))?.[0];
  if (key === '' || operator === undefined) return malformed(problems);
  if (operator === '') return lookUp(key, env, problems);
  const value = env[key];
  const given = operator === ':-' ? value !== undefined && value !== '' : value !== undefined;
  return given ? (value ?? '') : substitute(inner.slice(key.length + operator.length), env, problems);
}

function lookUp(key: string, env: NodeJS.ProcessEnv, problems: { message: string; remedy: string }[]): string {
  const value = env[key];
  if (value === undefined) {
    problems.push({
      message: `The environment variable ${key} is not set.`,
      remedy: `Set it, or write \${${key}:-default}; a plain dollar sign is written $$.`,
    });
  }
  return value ?? '';
}

function malformed(problems: { message: string; remedy: string }[]): string {
  const remedy = `Write \${NAME}, \${NAME:-default}, or $$ for a plain dollar sign.`;
  problems.push({ message: 'A $ here is neither an expansion nor escaped.', remedy });
  return '';
}

/** Where the brace that opens `text` is closed; its end if it never is. */
function closing(text: string): number {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1;
    if (text[at] === '}') depth -= 1;
    if (depth === 0) return at;
  }
  return text.length;
}
