import { endOfString, unquoted } from '../jsonText.ts';
import { type ContractFile, type ContractPlace, placeBelow, rootOf } from '../located.ts';
import { positionAt } from '../textPositions.ts';
import type { Checked } from './checks.ts';
import type { ContractFault } from './fault.ts';

/** A map or list that is open. */
interface Level {
  /** Undefined for a list. */
  readonly keys: Set<string> | undefined;
  readonly place: ContractPlace;
  key: string | number;
  awaitsKey: boolean;
}

/** Keys that JSON has twice in one map: `JSON.parse` keeps the last of them. YAML that does this is never read. */
export function checkDuplicateKeys({ parts }: Checked): ContractFault[] {
  return [...new Set(parts.map(({ located }) => located.place.file))]
    .filter(({ yaml }) => yaml === undefined)
    .flatMap(duplicatesIn);
}

function duplicatesIn(file: ContractFile): ContractFault[] {
  const { text = '', name } = file;
  const faults: ContractFault[] = [];
  const open: Level[] = [];
  // Strings are stepped over, so that brackets within them are not seen.
  const marks = /["{}[\],]/g;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    const level = open.at(-1);
    const [character] = mark;
    if (character === '{' || character === '[') {
      const place = level ? placeBelow(level.place, level.key) : rootOf(file).place;
      const isMap = character === '{';
      open.push({ keys: isMap ? new Set() : undefined, place, key: 0, awaitsKey: isMap });
    } else if (character === '}' || character === ']') open.pop();
    else if (character === ',' && level) {
      level.awaitsKey = level.keys !== undefined;
      if (typeof level.key === 'number') level.key += 1;
    } else if (character === '"') {
      const end = endOfString(text, mark.index);
      marks.lastIndex = end;
      if (!level?.awaitsKey || !level.keys) continue;
      level.awaitsKey = false;
      level.key = unquoted(text.slice(mark.index, end));
      if (level.keys.has(level.key)) {
        const { line, column } = positionAt(text, mark.index);
        const message = `has the key ${JSON.stringify(level.key)} here for the second time`;
        const place = placeBelow(level.place, level.key);
        faults.push({ place, where: `${name}:${line}:${column}`, message, remedy: 'Keep one of the two.' });
      }
      level.keys.add(level.key);
    }
  }
  return faults;
}
