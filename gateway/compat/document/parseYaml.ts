import { type Document, parseDocument, type YAMLError } from 'yaml';
import { withoutQuotation, yamlRemedy } from '../../shared/yamlSyntax.ts';
import { SourceError } from '../source/source.ts';
import { Unfolding, YamlRefusal, type YamlTree } from './yamlTree.ts';

/** Why a text cannot be read, and where it goes wrong. */
export class SyntaxRefusal extends SourceError {
  readonly offset: number;

  constructor(offset: number, message: string, remedy: string) {
    super(message, remedy);
    this.offset = offset;
  }
}

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

function explained({ code, message, pos }: YAMLError): SyntaxRefusal {
  if (code === 'RESOURCE_EXHAUSTION') return tooDeep(pos[0]);
  return new SyntaxRefusal(pos[0], `is not YAML: ${withoutQuotation(message)}`, yamlRemedy(code));
}
