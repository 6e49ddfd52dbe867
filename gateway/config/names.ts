import { isMap, isScalar, parseDocument } from 'yaml';
import { pairsOf } from '../shared/yaml/yamlText.ts';
import { parseYaml, YamlError } from '../shared/yaml/yamlValue.ts';

/** Parses YAML or JSON. @returns a map: identifier of the client in the ledger → its name; or why `text` is not such a map */
export function parseNames(text: string): ReadonlyMap<string, string> | string {
  let content: unknown;
  try {
    content = parseYaml(text).root;
  } catch (error) {
    if (error instanceof YamlError) return error.message;
    throw error;
  }
  // All lines may be commented out.
  if (content === null) return new Map();
  if (typeof content !== 'object' || Array.isArray(content)) return 'is not a map from clients to names';
  const entries = Object.entries(content);
  const nameless = entries.find(([, name]) => typeof name !== 'string' || name.trim() === '');
  return nameless ? `has no text for the name of ${JSON.stringify(nameless[0].slice(0, 80))}` : new Map(entries);
}

/** The line that names `client`. JSON strings are YAML too. */
export function nameLine(client: string, name: string): string {
  return `${JSON.stringify(client)}: ${JSON.stringify(name)}`;
}

/**
 * Sets the name of `client` in `text`, YAML or JSON; '' removes the name. Comments and all other names stay. Undefined if
 * that is not possible, for example because an alias refers to the name.
 */
export function withName(text: string, client: string, name: string): string | undefined {
  const names = parseNames(text);
  if (typeof names === 'string') return undefined;
  const wanted = new Map(names);
  if (name === '') wanted.delete(client);
  else wanted.set(client, name);
  // Editing the lines keeps every other byte. A flow map such as `{ a: b }` can only be edited as a parsed document.
  for (const edit of isJson(text) ? [editJson] : [editLines, editDocument]) {
    const edited = edit(text, client, name);
    if (edited !== undefined && isSame(parseNames(edited), wanted)) return edited;
  }
  return undefined;
}

/** Edits the lines of a block map; the caller checks the result. */
function editLines(text: string, client: string, name: string): string {
  const { root } = parseYaml(text).yaml;
  const pair = isMap(root) ? pairsOf(root).find(({ key }) => isScalar(key) && key.value === client) : undefined;
  const [keyRange, valueRange] = [pair?.key?.range, pair?.value?.range];
  if (!keyRange || !valueRange) {
    const [lineEnd, line] = [text.includes('\r\n') ? '\r\n' : '\n', nameLine(client, name)];
    return `${text}${text === '' || text.endsWith('\n') ? '' : lineEnd}${line}${lineEnd}`;
  }
  if (name !== '') return `${text.slice(0, valueRange[0])}${JSON.stringify(name)}${text.slice(valueRange[1])}`;
  const nextLine = text.indexOf('\n', valueRange[1]) + 1;
  return text.slice(0, text.lastIndexOf('\n', keyRange[0]) + 1) + text.slice(nextLine === 0 ? text.length : nextLine);
}

/** Edits the parsed document; undefined if it cannot be changed. */
function editDocument(text: string, client: string, name: string): string | undefined {
  try {
    const document = parseDocument(text);
    if (name === '') document.delete(client);
    else document.set(client, name);
    return document.toString({ lineWidth: 0 });
  } catch {
    return undefined;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Keeps the indentation and the last line break of `text`. */
function editJson(text: string, client: string, name: string): string {
  const names = new Map(Object.entries(JSON.parse(text) as Record<string, string>));
  if (name === '') names.delete(client);
  else names.set(client, name);
  const indentation = /^[ \t]+(?=")/m.exec(text)?.[0] ?? (text.includes('\n') ? '  ' : '');
  const end = /\s*$/.exec(text)?.[0] ?? '';
  return JSON.stringify(Object.fromEntries(names), null, indentation) + end;
}

function isSame(names: ReadonlyMap<string, string> | string, wanted: ReadonlyMap<string, string>): boolean {
  return (
    typeof names !== 'string' &&
    names.size === wanted.size &&
    [...wanted].every(([client, name]) => names.get(client) === name)
  );
}
