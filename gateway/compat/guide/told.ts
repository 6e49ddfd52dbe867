import type { Change } from '../change.ts';
import { levelOf, predicateOf } from '../rules/rules.ts';
import { labelOf, subjectOf } from '../rules/subjects.ts';
import { renameInWords } from '../rules/words.ts';
import { canonical } from '../schema/canonical.ts';
import type { Group, Member } from './groups.ts';
import type { ToldChange } from './guide.ts';
import { valueAt } from './values.ts';
import { named } from './words.ts';

/** What the examples of both contracts say at the place that a group is about; undefined: nothing. */
export interface Examples {
  readonly before: unknown;
  readonly after: unknown;
}

const order = { error: 0, warn: 1, info: 2 } as const;

/** Every change of a group in a sentence: the worst first. What was only renamed is told once. */
export function toldChanges(group: Group, examples: Examples, hints: ReadonlyMap<Change, string>): ToldChange[] {
  const renames = renamesAmong(group.members, examples, hints);
  const arrived = new Set(renames.values());
  const told = group.members
    .filter((member) => !arrived.has(member))
    .map((member): ToldChange => {
      const now = renames.get(member);
      // A field that has to be sent anew is one, whatever it was called.
      const level =
        [member, ...(now ? [now] : [])].map((one) => levelOf(one.change)).sort((a, b) => order[a] - order[b])[0] ??
        'info';
      return { level, text: `${sentence(member)}${valuesInWords(member, examples)}${ending(member, renames, hints)}` };
    });
  return told.sort((a, b) => order[a.level] - order[b.level]);
}

function sentence({ change, steps }: Member): string {
  const subject = subjectOf(steps, change);
  return `${subject === '' ? 'it' : subject} ${predicateOf(change)}`;
}

function ending(member: Member, renames: ReadonlyMap<Member, Member>, hints: ReadonlyMap<Change, string>): string {
  const now = renames.get(member);
  if (now === undefined) {
    const hint = hints.get(member.change);
    return hint === undefined ? '' : `; it ${renameInWords(hint)}`;
  }
  const demand = now.change.effect === 'added_required' && now.change.direction === 'request';
  return `; it looks renamed to ${named(labelOf(now.change))}${demand ? ', which has to be sent' : ''}`;
}

const telling: ReadonlySet<string> = new Set(['type', 'limit', 'value', 'values', 'structure']);

/** ": `"9.50"` before, `9.5` now", where both contracts have an example that shows it. */
function valuesInWords({ change, path }: Member, { before, after }: Examples): string {
  const [was, is] = [valueAt(before, path), valueAt(after, path)];
  if (!telling.has(change.kind) || !isShort(was) || !isShort(is) || was === is) return '';
  return `: ${named(JSON.stringify(was))} before, ${named(JSON.stringify(is))} now`;
}

function isShort(value: unknown): boolean {
  return value !== undefined && (value === null || typeof value !== 'object') && String(value).length <= 40;
}

/** What went, and what came in its place: the contracts' examples have the same value for both, or the names are alike. */
function renamesAmong(
  members: readonly Member[],
  { before, after }: Examples,
  hints: ReadonlyMap<Change, string>,
): ReadonlyMap<Member, Member> {
  const renames = new Map<Member, Member>();
  const added = members.filter(({ change }) => isNamed(change) && /^added/.test(change.effect));
  for (const gone of members.filter(({ change }) => isNamed(change) && !/^added/.test(change.effect))) {
    const near = added.filter((one) => one.change.kind === gone.change.kind && isBeside(one, gone));
    const value = valueAt(before, gone.path);
    const alike = near.filter((one) => {
      return isTelling(value) && canonical(valueAt(after, one.path)) === canonical(value);
    });
    // The label of a parameter is a phrase with backticks.
    const hinted = near.filter(
      ({ change }) => hints.get(gone.change) === labelOf(change) && !labelOf(change).includes('`'),
    );
    const [best, ...others] = hinted.length > 0 ? hinted : alike;
    if (best && others.length === 0 && ![...renames.values()].includes(best)) renames.set(gone, best);
  }
  return renames;
}

function isNamed({ kind, effect }: Change): boolean {
  return (kind === 'field' || kind === 'parameter' || kind === 'header') && !/^(required|optional)$/.test(effect);
}

function isBeside(a: Member, b: Member): boolean {
  const [left, right] = [a, b].map(({ path, change }) => `${change.direction} ${path.slice(0, -1).join('\n')}`);
  return left === right;
}

/** `true`, `0` and `[]` are the same in many fields that have nothing to do with each other. */
function isTelling(value: unknown): boolean {
  if (typeof value === 'string') return value.length > 1;
  if (typeof value === 'number') return Math.abs(value) > 1;
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}
