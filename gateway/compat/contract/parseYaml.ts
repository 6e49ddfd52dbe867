import { type Document, parseDocument, type YAMLError } from 'yaml';
import { Refusal } from './refusal.ts';
import { Unfolding, YamlRefusal, type YamlTree } from './yamlTree.ts';

/** Why a text cannot be read, and where it goes wrong. */
export class SyntaxRefusal extends Refusal {
  readonly offset: number;

  constructor(offset: number, message: string, remedy: string) {
    super(message, remedy);
    this.offset = offset;
  }
}

const remedies: Partial<Record<YAMLError['code'], string>> = {
  TAB_AS_INDENT: 'Indent with spaces.',
  TAG_RESOLVE_FAILED: 'Remove the tag, or put the value in quotes if it begins with an exclamation mark.',
  BAD_SCALAR_START: 'Put the value in quotes.',
  BAD_INDENT: 'Indent the keys of one map alike, and close brackets and quotes.',
  MISSING_CHAR: 'Close the bracket or the quote, or put a blank behind the colon.',
  MULTIPLE_DOCS: 'Keep one document to a file.',
};

/** @throws SyntaxRefusal */
export function parseYaml(text: string): { readonly root: unknown; readonly yaml: YamlTree } {
  const document = documentOf(text);
  // A tag that nobody knows, such as `!include`, stands for something that is not here.
  const [error] = [...document.errors, ...document.warnings];
  if (error) throw explained(error);
  const unfolding = new Unfolding();
  try {
    const root = unfolding.value(document.contents);
    return { root, yaml: { root: document.contents, targets: unfolding.targets } };
  } catch (caught) {
    if (caught instanceof RangeError) throw tooDeep(0);
    if (!(caught instanceof YamlRefusal)) throw caught;
    throw new SyntaxRefusal(caught.node?.range?.[0] ?? 0, caught.message, caught.remedy);
  }
}

export function tooDeep(offset: number): SyntaxRefusal {
  return new SyntaxRefusal(offset, 'is nested too deeply to be read', 'Close the brackets that were left open.');
}

function documentOf(text: string): Document.Parsed {
  try {
    // A silent parser keeps a second document to itself.
    // The keys are compared while the values are taken: the parser would hold each against every other one.
    const options = { prettyErrors: false, logLevel: 'error', resolveKnownTags: false, uniqueKeys: false } as const;
    return parseDocument(text, options);
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep(0);
    throw error;
  }
}

/** The parser's words may quote the file, so they are cut where a quotation begins. */
function explained({ code, message, pos }: YAMLError): SyntaxRefusal {
  if (code === 'RESOURCE_EXHAUSTION') return tooDeep(pos[0]);
  const said = message.replace(/: .*$/s, '').replace(/\.$/, '');
  return new SyntaxRefusal(pos[0], `is not YAML: ${said}`, remedies[code] ?? 'Correct the syntax.');
}
