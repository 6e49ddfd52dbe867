import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Documents } from '../../../gateway/contract/document/documents.ts';
import { below, type Located } from '../../../gateway/contract/document/located.ts';
import { type OpenOptions, openContract } from '../../../gateway/contract/document/open.ts';
import { CompareError } from '../../../gateway/contract/failure.ts';

export function write(folder: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}

export function open(reference: string, cwd: string, options: Partial<OpenOptions> = {}): Promise<Documents> {
  return openContract(reference, { cwd, stdin: () => '', allowRemote: false, ...options });
}

/** `where: message` of the CompareError, without its remedy, which must be a sentence. */
export async function errorMessage(contract: Promise<Documents> | (() => unknown)): Promise<string> {
  try {
    await (typeof contract === 'function' ? contract() : contract);
  } catch (error) {
    if (!(error instanceof CompareError)) throw error;
    if (!/^\S.*\.$/s.test(error.remedy)) throw new Error(`no remedy: ${error.message}`);
    return error.message.slice(0, -(error.remedy.length + 3));
  }
  return 'not refused';
}

/** A contract with the `$ref` at `components.schemas.Drink`. */
export function referring(ref: string): string {
  return JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Drinks', version: '1' },
    paths: {},
    components: { schemas: { Drink: { $ref: ref } } },
  });
}

export function drinkOf(documents: Documents): Located {
  const written = ['components', 'schemas', 'Drink'].reduce(below, documents.root);
  return documents.resolve(written);
}
