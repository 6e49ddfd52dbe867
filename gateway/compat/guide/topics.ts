import type { Change } from '../change.ts';
import { cut, interestIn, type Piece } from './cut.ts';
import type { Group, Spot } from './groups.ts';
import type { Excerpt, Sample, Topic } from './guide.ts';
import { type Made, partOf } from './made.ts';
import { type Body, type Side, split } from './side.ts';
import { toldChanges } from './told.ts';
import { valueAt } from './values.ts';

/** The two contracts, and how a route of the newer one was called in the older. */
export interface Contracts {
  readonly old: Side;
  readonly now: Side;
  readonly was: ReadonlyMap<Spot['route'], Spot['route']>;
}

const mostLines = 40;

/** A group in words, with an example of what it is about. */
export function topicOf(
  group: Group,
  anchor: string,
  contracts: Contracts,
  renames: ReadonlyMap<Change, string>,
): Topic {
  const { spot, bodies } = bestSpot(group, contracts);
  const { path: base } = split(spot.steps);
  const [before, after] = [bodies.before, bodies.after].map((body) => valueAt(body?.example, base));
  const changes = toldChanges(group, { before, after }, renames);
  return {
    anchor,
    subject: group.subject,
    changes: changes.filter(({ level }) => level !== 'info'),
    additions: changes.filter(({ level }) => level === 'info'),
    sample: sampleOf(group, base, bodies),
  };
}

interface Bodies {
  readonly before: Body | undefined;
  readonly after: Body | undefined;
}

/** Where both contracts have an example, if there is such a place. */
function bestSpot({ spots, members }: Group, contracts: Contracts): { spot: Spot; bodies: Bodies } {
  const [first] = spots;
  const tried = spots.slice(0, 20).map((spot) => {
    const { parts, path } = split([...spot.steps, ...(members[0]?.steps ?? [])]);
    const bodies = bodiesAt(spot, parts, contracts);
    const found = [bodies.before, bodies.after].filter(
      (body) => valueAt(body?.example, path.slice(0, -1)) !== undefined,
    );
    return { spot, bodies, count: found.length };
  });
  const [best] = tried.sort((a, b) => b.count - a.count);
  return best ?? { spot: first, bodies: { before: undefined, after: undefined } };
}

function bodiesAt({ route }: Spot, parts: readonly string[], { old, now, was }: Contracts): Bodies {
  const before = was.get(route);
  return { before: before && old.body(before, parts), after: now.body(route, parts) };
}

/** Of a body only: what else there is fits into its sentence. */
function sampleOf({ members }: Group, base: readonly string[], { before, after }: Bodies): Sample | undefined {
  const paths = members
    .filter(({ steps, change }) => !steps.some(({ text }) => text.startsWith('header ')) && change.kind !== 'header')
    .filter(({ change }) => change.kind !== 'media_type' && change.kind !== 'parameter')
    .map(({ path }) => path);
  if (paths.length === 0) return undefined;
  const interest = interestIn(paths);
  const pieceOf = (body: Body | undefined): Piece | undefined =>
    body && cut(valueAt(body.example, base), madeAt(body.made, base), interest);
  const [old, now] = [before, after].map((body) => excerptOf(pieceOf(body)));
  if (!old && !now) return undefined;
  return old?.text === now?.text ? undefined : { language: 'json', before: old, after: now };
}

function madeAt(made: Made | undefined, path: readonly string[]): Made | undefined {
  return path.reduce<Made | undefined>((at, key) => partOf(at, key), made);
}

function excerptOf(piece: Piece | undefined): Excerpt | undefined {
  if (piece === undefined) return undefined;
  const lines = JSON.stringify(piece.value, null, 2).split('\n');
  const shown = lines.length > mostLines ? [...lines.slice(0, mostLines - 1), '…'] : lines;
  return { text: shown.join('\n'), isMadeUp: piece.isMadeUp };
}
