import { styleText } from 'node:util';
import type { Output } from '../io.ts';

export type Paint = (style: 'red' | 'yellow' | 'green' | 'dim' | 'bold', text: string) => string;

/** Colours on a terminal, unless NO_COLOR is set; plain text otherwise. */
export function painter(output: Output, env: NodeJS.ProcessEnv): Paint {
  const isPlain = output.isTTY !== true || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb';
  return (style, text) => (isPlain ? text : styleText(style, text, { validateStream: false }));
}

/** Columns of a terminal; Infinity for a file or a pipe, where nothing is truncated. */
export function widthOf(output: Output): number {
  return output.isTTY ? (output.columns ?? 80) : Number.POSITIVE_INFINITY;
}

/**
 * JSON that is also safe to print on a terminal: JSON.stringify does not escape C1 control characters (RFC 8259 §7)
 * or bidirectional overrides.
 */
export function printedJson(value: unknown): string {
  const text = JSON.stringify(value, null, 2);
  const safe = text.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from({ length: character.length }, (_unit, at) => escapeOf(character.charCodeAt(at))).join(''),
  );
  return `${safe}\n`;
}

function escapeOf(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
