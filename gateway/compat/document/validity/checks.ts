import { CompareError } from '../../failure.ts';
import type { Documents } from '../documents.ts';
import { below, entriesOf, isList, isMap, itemsOf, type Located, refOf } from '../located.ts';
import { type ContractFault, faultAt } from './fault.ts';
import { type Operation, operationsOf } from './operations.ts';
import { type Part, partsOf } from './parts.ts';

/** What a check may look at. */
export interface Checked {
  readonly documents: Documents;
  readonly operations: readonly Operation[];
  readonly parts: readonly Part[];
}

export function checkedOf(documents: Documents): Checked {
  return { documents, operations: operationsOf(documents), parts: partsOf(documents) };
}

/** `info`, and something that the contract is about. */
export function checkHead({ documents: { root } }: Checked): ContractFault[] {
  const faults: ContractFault[] = [];
  const { value } = below(root, 'info');
  if (!isMap(value) || typeof value['title'] !== 'string' || typeof value['version'] !== 'string') {
    faults.push(faultAt(below(root, 'info'), 'a title and a version are missing, as texts', 'Add `info`.'));
  }
  if (!['paths', 'webhooks'].some((key) => isMap(below(root, key).value))) {
    faults.push(faultAt(root, 'there are neither `paths` nor `webhooks`', 'Describe what the API offers.'));
  }
  for (const [path, item] of entriesOf(below(root, 'paths'))) {
    if (path.startsWith('/') || path.startsWith('x-')) continue;
    faults.push(faultAt(item, 'a path has to begin with a slash', `Write it as /${path}.`));
  }
  return faults;
}

/** Paths that match the same requests. */
export function checkPaths({ documents: { root } }: Checked): ContractFault[] {
  const known = new Map<string, string>();
  return entriesOf(below(root, 'paths')).flatMap(([path, item]) => {
    const shape = path.replace(/\{[^{}]*\}/g, '{}');
    const twin = known.get(shape);
    known.set(shape, twin ?? path);
    return twin === undefined ? [] : [faultAt(item, `is the same path as ${twin}`, 'Keep one of the two.')];
  });
}

export function checkOperations({ operations }: Checked): ContractFault[] {
  const known = new Set<string>();
  return operations.flatMap(({ located }) => {
    const faults: ContractFault[] = [];
    const responses = below(located, 'responses');
    if (entriesOf(responses).length === 0) {
      faults.push(faultAt(located, 'no responses are described', 'Add `responses`.'));
    }
    const id = below(located, 'operationId');
    if (typeof id.value !== 'string') return faults;
    if (known.has(id.value)) {
      faults.push(faultAt(id, `the operationId ${JSON.stringify(id.value)} is there twice`, 'Give each one its own.'));
    }
    known.add(id.value);
    return faults;
  });
}

/** `$ref`s that lead nowhere, wherever they stand. */
export function checkReferences({ parts, documents }: Checked): ContractFault[] {
  return parts.flatMap(({ located }) => {
    if (refOf(located.value) === undefined) return [];
    try {
      documents.resolve(located);
      return [];
    } catch (error) {
      if (!(error instanceof CompareError)) throw error;
      const { message, where, remedy } = error;
      const said = message.slice(where.length + 2, -(remedy.length + 3));
      return [{ place: located.place, where, message: said, remedy }];
    }
  });
}

const types = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

export function checkTypes({ parts }: Checked): ContractFault[] {
  return parts.flatMap(({ located, kind }) => {
    const type = below(located, 'type');
    if (kind !== 'schema' || type.value === undefined) return [];
    const words: Located[] = isList(type.value) ? itemsOf(type) : [type];
    return words
      .filter(({ value }) => typeof value !== 'string' || !types.includes(value))
      .map((word) => faultAt(word, `${JSON.stringify(word.value)} is no type`, `Take one of ${types.join(', ')}.`));
  });
}
