import type { YAMLError } from 'yaml';
import { withoutQuotation, yamlRemedy } from '../shared/yamlSyntax.ts';
import type { Fault } from './fault.ts';
import { mask, type Path } from './fault.ts';
import { formatPath, type Position, type Source } from './source.ts';

export type Complaint = Pick<YAMLError, 'code' | 'message' | 'pos'>;

const documentProblems = {
  empty: ['The file is empty.', 'Write at least one route, such as `routes: { /v1: http://127.0.0.1:3001 }`.'],
  bytes: ['The file is not UTF-8.', 'Save it as UTF-8.'],
  variable: ['This is not YAML: within brackets, the brace of a variable is taken for a map.', 'Put it in quotes.'],
  several: ['A second YAML document begins here.', 'Keep one document to a file, and remove the line `---`.'],
  deep: ['The file is nested too deeply to be read.', 'Close the brackets that were left open.'],
  bomb: ['The aliases of this file unfold to far more than the file itself.', 'Write the values out.'],
  cycle: ['An alias stands within its own anchor.', 'Write the values out.'],
} as const;

/** A fault of the document as a whole. */
export function documentFault(source: Source, kind: keyof typeof documentProblems, position?: Position): Fault {
  const [message, remedy] = documentProblems[kind];
  const { line, column } = position ?? { line: 1, column: 1 };
  return { file: source.file, line, column, path: '', value: undefined, message, remedy };
}

// These leave no doubt about what the rest of the file says.
const harmless: readonly YAMLError['code'][] = ['DUPLICATE_KEY', 'TAG_RESOLVE_FAILED'];

/** Whether what was parsed of the rest of the file may be nonsense. */
export function isFatal(error: Complaint): boolean {
  return !harmless.includes(error.code);
}

/** What the YAML parser complains of. */
export function syntaxFault(source: Source, error: Complaint, position: Position): Fault {
  const said = mask(withoutQuotation(error.message));
  const path = error.code === 'DUPLICATE_KEY' ? pathOfKeyAt(source, position) : undefined;
  return {
    file: source.file,
    line: position.line,
    column: position.column,
    path: path === undefined ? '' : formatPath(path),
    value: undefined,
    message: error.code === 'DUPLICATE_KEY' ? 'This key is here a second time.' : `This is not YAML: ${said}.`,
    remedy: yamlRemedy(error.code),
  };
}

/** Whether a parser stumbled over the brace of a variable within a flow map or list. */
export function isBareVariable(error: Complaint, text: string): boolean {
  return text.startsWith('$\x7b', error.pos[0] - 1);
}

function pathOfKeyAt(source: Source, { line, column }: Position): Path | undefined {
  const [found] = [...source.places].find(([, { key }]) => key?.line === line && key.column === column) ?? [];
  return found === undefined ? undefined : (JSON.parse(found) as Path);
}
