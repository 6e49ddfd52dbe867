import { CompareError } from '../failure.ts';
import { type ContractFile, isList, isMap, type JsonMap } from './located.ts';

const remedy = 'Name an OpenAPI document of version 3.0, 3.1 or 3.2.';

/** What else a document may be, by a key that only it has. */
const others: readonly (readonly [key: string, what: string])[] = [
  ['asyncapi', 'an AsyncAPI document'],
  ['arazzo', 'an Arazzo document'],
  ['overlay', 'an OpenAPI overlay'],
  ['$schema', 'a JSON Schema'],
];

/** @throws CompareError unless the file is a whole OpenAPI 3 document */
export function refuseUnlessOpenApi(file: ContractFile): void {
  const { root, name, text = '' } = file;
  if (!isMap(root)) throw new CompareError(name, `${notEvenAMap(root, text)}, not an OpenAPI document`, remedy);
  const { openapi, swagger } = root as { openapi?: unknown; swagger?: unknown };
  if (openapi === undefined && swagger !== undefined) {
    const convert = 'Convert it to OpenAPI 3 first.';
    throw new CompareError(name, `is Swagger ${wordOf(swagger)}, not OpenAPI 3`, convert);
  }
  if (openapi === undefined) throw new CompareError(name, `${whatElse(root)}, not an OpenAPI document`, remedy);
  // YAML reads a bare 3.0 as the number 3.
  if (!/^3(?:\.[012](?:\.|$)|$)/.test(String(openapi))) {
    throw new CompareError(`${name}#/openapi`, `is OpenAPI ${wordOf(openapi)}, which is not known here`, remedy);
  }
}

function notEvenAMap(root: unknown, text: string): string {
  if (text.trim() === '') return 'is empty';
  if (/^\s*<(?:!doctype\s+html|html)\b/i.test(text)) return 'is a page of HTML';
  if (root === null || root === undefined) return 'holds nothing but comments';
  return isList(root) ? 'is a list' : 'is a single value';
}

function whatElse(root: JsonMap): string {
  const known = others.find(([key]) => root[key] !== undefined);
  if (known) return `is ${known[1]}`;
  const { info } = root as { info?: unknown };
  if (isMap(info) && info['_postman_id'] !== undefined) return 'is a Postman collection';
  const isFragment = ['paths', 'components', 'webhooks'].some((key) => root[key] !== undefined);
  return isFragment ? 'has no key `openapi`: it is a part of a contract' : 'has no key `openapi`: it is something else';
}

function wordOf(version: unknown): string {
  return typeof version === 'string' || typeof version === 'number' ? String(version).slice(0, 20) : 'of no version';
}
