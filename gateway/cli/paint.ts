import { styleText } from 'node:util';
import type { Output } from './io.ts';

export type Paint = (style: 'red' | 'yellow' | 'green' | 'dim' | 'bold', text: string) => string;

/** Colours for a terminal, unless NO_COLOR is set; plain text for anything else. */
export function painter(output: Output, env: NodeJS.ProcessEnv): Paint {
  const isPlain = output.isTTY !== true || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb';
  return (style, text) => (isPlain ? text : styleText(style, text, { validateStream: false }));
}
