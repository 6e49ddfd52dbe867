import { isMap } from '../../shared/json.ts';
import { CompareError } from '../failure.ts';
import { type ContractOperation, type ContractPart, contractParts, operationsOf } from './contractParts.ts';
import type { Documents } from './documents.ts';
import { findRepeatedKeys } from './jsonSyntax.ts';
import {
  addressOf,
  below,
  type ContractPlace,
  entriesOf,
  isList,
  itemsOf,
  type Located,
  placeBelow,
  refOf,
  rootOf,
} from './located.ts';
import { textPositionAt } from './positions.ts';

/** A mistake in a contract. */
export interface ContractFault {
  readonly place: ContractPlace;
  /** `file#/json/pointer`, or `file:line:column`. */
  readonly where: string;
  readonly message: string;
  readonly remedy: string;
}

interface ContractToCheck {
  readonly documents: Documents;
  readonly operations: readonly ContractOperation[];
  readonly parts: readonly ContractPart[];
}

const checks: readonly ((contract: ContractToCheck) => ContractFault[])[] = [
  checkRoot,
  checkPathConflicts,
  checkOperations,
  checkParameters,
  checkReferences,
  checkTypes,
  checkRepeatedKeys,
];

/** The mistakes in a contract, each once. A comparison works without these checks: most mistakes do not affect it. */
export function contractFaults(documents: Documents): ContractFault[] {
  const contract = { documents, operations: operationsOf(documents), parts: contractParts(documents) };
  const faults = new Map<string, ContractFault>();
  for (const fault of checks.flatMap((check) => check(contract))) {
    const key = JSON.stringify([fault.where, fault.message]);
    if (!faults.has(key)) faults.set(key, fault);
  }
  return [...faults.values()];
}

function faultAt({ place }: Located, message: string, remedy: string): ContractFault {
  return { place, where: addressOf(place), message, remedy };
}

/** Checks `info`, that there are `paths` or `webhooks`, and that every path begins with a slash. */
function checkRoot({ documents: { root } }: ContractToCheck): ContractFault[] {
  const faults: ContractFault[] = [];
  const info = below(root, 'info');
  if (typeof below(info, 'title').value !== 'string' || typeof below(info, 'version').value !== 'string') {
    faults.push(faultAt(info, 'must have a title and a version, both strings', 'Add them to `info`.'));
  }
  if (!['paths', 'webhooks'].some((key) => isMap(below(root, key).value))) {
    faults.push(faultAt(root, 'has neither `paths` nor `webhooks`', 'Add one of the two.'));
  }
  for (const [path, item] of entriesOf(below(root, 'paths'))) {
    if (path.startsWith('/') || path.startsWith('x-')) continue;
    faults.push(faultAt(item, 'a path must begin with a slash', `Write it as /${path}.`));
  }
  return faults;
}

/** Two paths that differ only in the names of their parameters match the same requests. */
function checkPathConflicts({ documents: { root } }: ContractToCheck): ContractFault[] {
  const pathByPattern = new Map<string, string>();
  return entriesOf(below(root, 'paths')).flatMap(([path, item]) => {
    const pattern = path.replace(/\{[^{}]*\}/g, '{}');
    const first = pathByPattern.get(pattern);
    pathByPattern.set(pattern, first ?? path);
    return first === undefined ? [] : [faultAt(item, `is the same path as ${first}`, 'Keep one of the two.')];
  });
}

function checkOperations({ documents, operations }: ContractToCheck): ContractFault[] {
  const usedIds = new Set<string>();
  return operations.flatMap(({ located }) => {
    const faults: ContractFault[] = [];
    const responses = below(located, 'responses');
    // Since OpenAPI 3.1, an operation may leave out `responses`.
    const mayBeMissing = responses.value === undefined && !documents.isOpenApi30;
    if (entriesOf(responses).length === 0 && !mayBeMissing) {
      faults.push(faultAt(located, 'has no responses', 'Add `responses`.'));
    }
    const id = below(located, 'operationId');
    if (typeof id.value !== 'string') return faults;
    if (usedIds.has(id.value)) {
      const message = `the operationId ${JSON.stringify(id.value)} is used twice`;
      faults.push(faultAt(id, message, 'Give each operation its own operationId.'));
    }
    usedIds.add(id.value);
    return faults;
  });
}

const parameterLocations = ['path', 'query', 'header', 'cookie', 'querystring'];

function checkParameters({ operations }: ContractToCheck): ContractFault[] {
  const allParameters = operations.flatMap(({ parameters }) => parameters);
  const distinctParameters = new Map(allParameters.map((parameter) => [parameter.value, parameter]));
  return [...[...distinctParameters.values()].flatMap(checkParameter), ...operations.flatMap(checkPathParameters)];
}

function checkParameter(parameter: Located): ContractFault[] {
  const faults: ContractFault[] = [];
  const location = below(parameter, 'in');
  const name = below(parameter, 'name');
  if (typeof name.value !== 'string') faults.push(faultAt(parameter, 'a parameter has no name', 'Add `name`.'));
  if (typeof location.value !== 'string' || !parameterLocations.includes(location.value)) {
    const message = `${JSON.stringify(location.value) ?? 'nothing'} is not a parameter location`;
    faults.push(faultAt(location, message, `Use one of ${parameterLocations.join(', ')}.`));
  }
  const presentKeys = ['schema', 'content'].filter((key) => below(parameter, key).value !== undefined);
  if (presentKeys.length !== 1) {
    const message = `a parameter has ${presentKeys.length === 0 ? 'neither `schema` nor' : 'both `schema` and'} \`content\``;
    faults.push(faultAt(parameter, message, 'Use one of the two.'));
  }
  if (location.value === 'path' && below(parameter, 'required').value !== true) {
    faults.push(faultAt(parameter, 'a path parameter is not required', 'Add `required: true`.'));
  }
  return faults;
}

/** The parameters in a path template must be the declared path parameters. */
function checkPathParameters({ located, path, isWebhook, parameters }: ContractOperation): ContractFault[] {
  if (isWebhook) return [];
  const pathParameters = parameters.filter((one) => below(one, 'in').value === 'path');
  const declaredNames = pathParameters.map((one) => below(one, 'name').value);
  const namesInTemplate = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name);
  const undeclaredNames = [...new Set(namesInTemplate)].filter((name) => !declaredNames.includes(name));
  const unusedParameters = pathParameters.filter((one) => !namesInTemplate.includes(String(below(one, 'name').value)));
  return [
    ...undeclaredNames.map((name) =>
      faultAt(located, `the path parameter {${name}} is not declared`, 'Add it to `parameters`.'),
    ),
    ...unusedParameters.map((one) =>
      faultAt(one, `the path ${path} has no {${String(below(one, 'name').value)}}`, 'Remove the parameter.'),
    ),
  ];
}

function checkReferences({ parts, documents }: ContractToCheck): ContractFault[] {
  return parts.flatMap(({ located }) => {
    if (refOf(located.value) === undefined) return [];
    try {
      documents.resolve(located);
      return [];
    } catch (error) {
      if (!(error instanceof CompareError)) throw error;
      const { message, where, remedy } = error;
      // The message of a CompareError is `where: message.  remedy`.
      const predicate = message.slice(where.length + 2, -(remedy.length + 3));
      return [{ place: located.place, where, message: predicate, remedy }];
    }
  });
}

const typeNames = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

function checkTypes({ parts }: ContractToCheck): ContractFault[] {
  return parts.flatMap(({ located, kind }) => {
    const type = below(located, 'type');
    if (kind !== 'schema' || type.value === undefined) return [];
    const names: Located[] = isList(type.value) ? itemsOf(type) : [type];
    return names
      .filter(({ value }) => typeof value !== 'string' || !typeNames.includes(value))
      .map((name) =>
        faultAt(name, `${JSON.stringify(name.value)} is not a type`, `Use one of ${typeNames.join(', ')}.`),
      );
  });
}

/** Checks JSON files only: the YAML parser rejects a repeated key. */
function checkRepeatedKeys({ parts }: ContractToCheck): ContractFault[] {
  const files = new Set(parts.map(({ located }) => located.place.file));
  return [...files].flatMap((file) => {
    const { name, text = '', yaml } = file;
    if (yaml !== undefined) return [];
    return findRepeatedKeys(text).map(({ offset, path }) => {
      const { line, column } = textPositionAt(text, offset);
      const message = `has the key ${JSON.stringify(path.at(-1))} here for the second time`;
      const place = path.reduce(placeBelow, rootOf(file).place);
      return { place, where: `${name}:${line}:${column}`, message, remedy: 'Keep one of the two.' };
    });
  });
}
