import { printable } from '../../shared/text.ts';
import { type Fault, mask, show } from '../fault.ts';
import type { FilePosition } from './node.ts';

/** A difference between routes.yaml and the Compose project. A fault is an error; a warning is probably not intended. */
export interface ComposeFinding {
  readonly level: 'fault' | 'warning';
  readonly fault: Fault;
}

export function warningFinding(fault: Fault): ComposeFinding {
  return { level: 'warning', fault };
}

export function faultFinding(fault: Fault): ComposeFinding {
  return { level: 'fault', fault };
}

/** A fault in a Compose file; `path` is the path in the merged project. */
export function faultIn(
  at: FilePosition,
  path: readonly string[],
  message: string,
  remedy: string,
  value?: string,
): Fault {
  return {
    file: at.file,
    line: at.line,
    column: at.column,
    path: printable(mask(path.map((key) => brief(key)).join('.'))),
    value: value === undefined ? undefined : show(value, path),
    message: printable(mask(message)),
    remedy: printable(mask(remedy)),
  };
}

/** Shortens a name for a message; names in Compose files may have any length. */
export function brief(name: string, longest = 80): string {
  return name.length > longest ? `${name.slice(0, longest - 1)}…` : name;
}

/** `v1, v2 and 3 others` */
export function listed(names: readonly string[]): string {
  const shown = names
    .slice(0, 8)
    .map((name) => brief(name))
    .join(', ');
  return names.length > 8 ? `${shown} and ${names.length - 8} others` : shown;
}
