import { below, type Located } from '../located.ts';
import type { Checked } from './checks.ts';
import { type ContractFault, faultAt } from './fault.ts';
import type { Operation } from './operations.ts';

const locations = ['path', 'query', 'header', 'cookie', 'querystring'];

/** Each by itself, and those of a path against the path. */
export function checkParameters({ operations }: Checked): ContractFault[] {
  const all = new Map(operations.flatMap(({ parameters }) => parameters.map((one) => [one.value, one] as const)));
  return [...[...all.values()].flatMap(checkParameter), ...operations.flatMap(checkPathParameters)];
}

function checkParameter(parameter: Located): ContractFault[] {
  const faults: ContractFault[] = [];
  const at = below(parameter, 'in');
  const name = below(parameter, 'name');
  if (typeof name.value !== 'string') faults.push(faultAt(parameter, 'a parameter has no name', 'Add `name`.'));
  if (typeof at.value !== 'string' || !locations.includes(at.value)) {
    const remedy = `Take one of ${locations.join(', ')}.`;
    faults.push(faultAt(at, `${JSON.stringify(at.value) ?? 'nothing'} is no place for a parameter`, remedy));
  }
  const described = ['schema', 'content'].filter((key) => below(parameter, key).value !== undefined);
  if (described.length !== 1) {
    const message =
      described.length === 0 ? 'a parameter has neither `schema` nor `content`' : 'has `schema` and `content`';
    faults.push(faultAt(parameter, message, 'Describe its values by one of the two.'));
  }
  if (at.value === 'path' && below(parameter, 'required').value !== true) {
    faults.push(faultAt(parameter, 'a parameter of the path is not required', 'Add `required: true`.'));
  }
  return faults;
}

function checkPathParameters({ located, path, isWebhook, parameters }: Operation): ContractFault[] {
  if (isWebhook) return [];
  const inPath = parameters.filter((one) => below(one, 'in').value === 'path');
  const declared = inPath.map((one) => below(one, 'name').value);
  const named = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name);
  return [
    ...[...new Set(named)]
      .filter((name) => !declared.includes(name))
      .map((name) =>
        faultAt(located, `the parameter {${name}} of the path is not declared`, 'Add it to `parameters`.'),
      ),
    ...inPath
      .filter((one) => !named.includes(String(below(one, 'name').value)))
      .map((one) =>
        faultAt(one, `the path ${path} has no {${String(below(one, 'name').value)}}`, 'Remove the parameter.'),
      ),
  ];
}
