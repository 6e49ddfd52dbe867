import type { JsonValue, Keys, Operation } from '../../../config/adapterSettings.ts';
import { pointerToken } from '../../../shared/json.ts';
import { printable } from '../../../shared/text.ts';
import { type DraftedOperation, operationIdOf } from './draftOperations.ts';

/** A row of a draft: a route of the adapted version. */
export interface DraftedRow {
  /** `GET /drinks/{id}` */
  readonly name: string;
  /** Undefined: the route has a counterpart. */
  readonly gone: string | undefined;
  readonly to: string;
  /** Why `to` is probably the counterpart; empty if it is certain. */
  readonly note: string;
  readonly request: ReadonlyMap<'path' | 'query' | 'body', readonly DraftedOperation[]>;
  readonly responses: ReadonlyMap<string, readonly DraftedOperation[]>;
  /** Key: the id of an operation that is not used. Value: the reason. */
  readonly unused: ReadonlyMap<string, string>;
  /** What the check still rejects. The row is then written as a comment. */
  readonly faults: readonly string[];
}

// A route in this form needs no quotes in YAML: `GET /drinks/{id}`.
const plainRoute = /^[A-Z]+ \/[\w\-./{}~]*$/;

/** The row in YAML, below `routes`. */
export function rowLines(row: DraftedRow): string[] {
  const name = keyText(row.name, plainRoute);
  if (row.gone !== undefined) return commentedIfFaulty(row, [`${name}: { gone: ${yamlTextOf(row.gone)} }`]);
  const to = plainRoute.test(row.to) ? row.to : yamlTextOf(row.to);
  const sections = [...sectionOf('request', [...row.request], row), ...sectionOf('response', [...row.responses], row)];
  // Within braces, a text with braces needs quotes.
  if (sections.length === 0 && row.note === '')
    return commentedIfFaulty(row, [`${name}: { to: ${to.includes('{') ? yamlTextOf(row.to) : to} }`]);
  return commentedIfFaulty(row, [`${name}:`, `  to: ${to}${commentOf('guess', row.note)}`, ...indented(sections)]);
}

/** The lines of `request` or `response`. Parts without a used operation are comments. */
function sectionOf(
  title: string,
  entries: readonly (readonly [key: string, list: readonly DraftedOperation[]])[],
  { unused }: DraftedRow,
): string[] {
  if (entries.length === 0) return [];
  const isUnused = ([, list]: (typeof entries)[number]): boolean =>
    list.length > 0 && usedOperations(list, unused).length === 0;
  const isSectionUnused = entries.every(isUnused);
  const blocks = entries.flatMap((entry) => {
    const [key, list] = entry;
    // Without an entry of its own, a status would get the operations of its class, such as `2XX`.
    if (list.length === 0) return [`${key}: []`];
    const lines = [`${key}:`, ...indented(operationLines(list, unused, isUnused(entry)))];
    return isUnused(entry) && !isSectionUnused ? commented(lines) : lines;
  });
  const lines = [`${title}:`, ...indented(blocks)];
  return isSectionUnused ? commented(lines) : lines;
}

/** The operations of the row that are used. */
export function usedOperations(list: readonly DraftedOperation[], unused: ReadonlyMap<string, unknown>): Operation[] {
  return list.flatMap(({ operation, certainty, inner }): Operation[] => {
    if (certainty === 'undecided' || unused.has(operationIdOf(operation))) return [];
    if (operation.kind !== 'each') return [operation];
    const operations = usedOperations(inner, unused);
    return operations.length === 0 ? [] : [{ ...operation, operations }];
  });
}

/** `isInComment`: whether the lines are already part of a comment. */
function operationLines(
  list: readonly DraftedOperation[],
  unused: ReadonlyMap<string, string>,
  isInComment: boolean,
): string[] {
  return withJoinedDrops(list).flatMap(({ drafted, text }) => {
    const { operation, certainty, note, inner } = drafted;
    const reason = unused.get(operationIdOf(operation));
    const remark =
      reason !== undefined
        ? commentOf('fault', reason)
        : commentOf(certainty === 'undecided' ? 'decide' : 'guess', note);
    const isActive = usedOperations([drafted], unused).length > 0;
    const lines =
      operation.kind === 'each'
        ? [
            '- each:',
            `    ${fieldText(operation.at)}:${remark}`,
            ...indented(operationLines(inner, unused, !isActive), 6),
          ]
        : [`- ${text}${remark}`];
    return !isInComment && !isActive ? commented(lines) : lines;
  });
}

/** Consecutive drops that a person has to decide on are joined to one line, if their notes are equal. */
function withJoinedDrops(list: readonly DraftedOperation[]): { drafted: DraftedOperation; text: string }[] {
  const lines: { drafted: DraftedOperation; fields: Keys[] }[] = [];
  for (const drafted of list) {
    const last = lines.at(-1);
    const { operation, certainty, note } = drafted;
    const isSame = last?.drafted.certainty === certainty && last.drafted.note === note;
    if (operation.kind === 'drop' && last?.drafted.operation.kind === 'drop' && isSame && certainty === 'undecided')
      last.fields.push(operation.at);
    else lines.push({ drafted, fields: [operation.at] });
  }
  return lines.map(({ drafted, fields }) => ({ drafted, text: operationText(drafted.operation, fields) }));
}

/** `fields`: the field of the operation; several for a drop. */
function operationText(operation: Operation, fields: readonly Keys[]): string {
  const { kind } = operation;
  const field = fieldText(operation.at);
  switch (kind) {
    case 'drop':
    case 'wrap':
    case 'head': {
      const values = fields.map((keys) => fieldText(keys, yamlTextOf));
      return `${kind}: ${values.length > 1 ? `[${values.join(', ')}]` : values.join('')}`;
    }
    case 'rename':
    case 'move': {
      const name = operation.to.at(-1) ?? '';
      // A name that `rename` would read in another way is written as a pointer, in a `move`.
      const isName = kind === 'rename' && name !== '' && !name.startsWith('/');
      if (isName) return `rename: { ${field}: ${needsNoQuotes(name) ? name : yamlTextOf(name)} }`;
      return `move: { ${pointerText(operation.at)}: ${pointerText(operation.to, yamlTextOf)} }`;
    }
    case 'convert':
      return `convert: { ${field}: ${operation.to}${operation.to === 'decimal_string' ? `(${operation.digits})` : ''} }`;
    case 'map': {
      const values = [...operation.values].map(([from, to]) => `${keyText(from)}: ${valueText(to)}`);
      return `map: { ${field}: { ${values.join(', ')} } }`;
    }
    // `operationLines` writes it.
    case 'each':
      return '';
    default:
      return `${kind}: { ${field}: ${valueText(operation.value)} }`;
  }
}

/**
 * A field of the current object, or a JSON Pointer. `quote`: the function that quotes a name. It is `textOf` if the name is a value
 * in YAML, because a $ in a value begins a variable.
 */
function fieldText(keys: Keys, quote = quoted): string {
  const [name = ''] = keys;
  if (keys.length === 0) return "''";
  // These need a pointer: a key __proto__ would be rejected, and an empty name would mean the value itself.
  const isName = keys.length === 1 && !name.startsWith('/') && name !== '' && name !== '__proto__';
  if (!isName) return pointerText(keys, quote);
  return needsNoQuotes(name) ? name : quote(name);
}

function pointerText(keys: Keys, quote = quoted): string {
  const pointer = keys.map((key) => `/${pointerToken(key)}`).join('');
  return needsNoQuotes(pointer, /^(?:\/[\w-]+)+$/) ? pointer : quote(pointer);
}

// Words that some versions of YAML do not read as texts.
const reservedWord = /^(?:null|true|false|yes|no|on|off|y|n|nan|inf)$/i;

/** `…` stands for a value that a person has to fill in (`unknownValue` in draftValues.ts). */
function needsNoQuotes(text: string, pattern = /^[A-Za-z_…][\w-]*$/): boolean {
  return pattern.test(text) && !reservedWord.test(text) && text.length < 200;
}

function keyText(key: string, pattern?: RegExp): string {
  return needsNoQuotes(key, pattern) ? key : quoted(key);
}

function valueText(value: JsonValue): string {
  if (typeof value === 'string') return needsNoQuotes(value) ? value : yamlTextOf(value);
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  if (typeof value === 'bigint') return String(value);
  if (value === null || typeof value !== 'object' || JSON.isRawJSON(value)) return JSON.stringify(value);
  const entries = Object.entries(value).map(([name, item]) => `${quoted(name)}: ${valueText(item)}`);
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
}

/** A text as a value. Each $ is doubled, because a single $ begins a variable. */
export function yamlTextOf(text: string): string {
  return quoted(text.replaceAll('$', '$$$$'));
}

/** A text in double quotes, with escapes that JSON and YAML share. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Cn}]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      const unit = character.charCodeAt(index);
      return `\\u${unit.toString(16).padStart(4, '0')}`;
    }).join(''),
  );
}

function commentOf(word: string, text: string): string {
  return text === '' ? '' : `  # ${word}: ${printable(text)}`;
}

function commented(lines: readonly string[]): string[] {
  return lines.map((line) => `# ${line}`);
}

function indented(lines: readonly string[], width = 2): string[] {
  return lines.map((line) => `${' '.repeat(width)}${line}`);
}

const maxFaults = 8;

/** A row with faults is a comment as a whole, with its faults above it. */
function commentedIfFaulty({ faults }: DraftedRow, lines: readonly string[]): string[] {
  if (faults.length === 0) return [...lines];
  const written = faults.slice(0, maxFaults).map((fault) => `# fault: ${printable(fault)}`);
  const more = faults.length > maxFaults ? [`# fault: ${faults.length - maxFaults} more.`] : [];
  return [...written, ...more, ...commented(lines)];
}
