import type { Documents } from './documents.ts';
import { checkParameters } from './validity/checkParameters.ts';
import { checkedOf, checkHead, checkOperations, checkPaths, checkReferences, checkTypes } from './validity/checks.ts';
import { checkDuplicateKeys } from './validity/duplicateKeys.ts';
import type { ContractFault } from './validity/fault.ts';

const checks = [
  checkHead,
  checkPaths,
  checkOperations,
  checkParameters,
  checkReferences,
  checkTypes,
  checkDuplicateKeys,
];

/** What is sloppy in a contract; contracts are compared without being asked, since most of it does no harm there. */
export function faultsOf(documents: Documents): ContractFault[] {
  const checked = checkedOf(documents);
  const faults = new Map<string, ContractFault>();
  for (const fault of checks.flatMap((check) => check(checked))) {
    const key = JSON.stringify([fault.where, fault.message]);
    if (!faults.has(key)) faults.set(key, fault);
  }
  return [...faults.values()];
}
