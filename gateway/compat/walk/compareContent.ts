import { addPart, type Comparison, type Direction, type Step } from '../change.ts';
import { compareDocs } from '../compareDocs.ts';
import { below, entriesOf, type Located } from '../document/located.ts';
import type { Wire } from '../schema/pair.ts';
import { compareEncodings } from './compareEncodings.ts';
import { spelledAlike } from './contentTypes.ts';
import { hasParts } from './encoding.ts';
import { found, type Sides } from './sides.ts';

/** Bodies by their media types. A range such as `application/*` covers what falls under it. */
export function compareContent(old: Located, now: Located, direction: Direction, sides: Sides, into: Comparison): void {
  const [before, after] = [mediaTypes(old), mediaTypes(now)];
  const isOnly = before.size < 2 && after.size < 2;
  for (const [type, media] of before) {
    const kept = after.get(type) ?? covering(type, after);
    // What is left of a range that was answered with is compared with it below.
    if (kept === undefined && direction === 'response' && isNarrowed(type, after)) continue;
    if (kept === undefined) found(into, { kind: 'media_type', effect: 'removed' }, direction, type, media, undefined);
    else
      addPart(
        into,
        isOnly ? undefined : { kind: 'part', text: type },
        compareMedia(type, media, kept, direction, sides),
      );
  }
  for (const [type, media] of after) {
    if (before.has(type)) continue;
    const wider = covering(type, before);
    if (wider) addPart(into, { kind: 'part', text: type }, compareMedia(type, wider, media, direction, sides));
    else found(into, { kind: 'media_type', effect: 'added' }, direction, type, undefined, media);
  }
}

function compareMedia(
  type: string,
  old: Located,
  now: Located,
  direction: Direction,
  sides: Sides,
): Comparison | undefined {
  const wire = wireOf(type);
  // What is said of the parts of a form means something to some media types only.
  const what = `media ${direction} ${hasParts(type) ? type : wire}`;
  return sides.unlessTwins(what, old, now, (before, after, into) => {
    compareDocs(before, after, into);
    addPart(into, undefined, sides.schemas(below(before, 'schema'), below(after, 'schema'), direction, wire));
    const items: Step = { kind: 'items', text: '[]' };
    addPart(into, items, sides.schemas(below(before, 'itemSchema'), below(after, 'itemSchema'), direction, wire));
    compareEncodings(type, before, after, direction, sides, into);
  });
}

function mediaTypes(content: Located): Map<string, Located> {
  return new Map(entriesOf(content).map(([type, media]) => [spelledAlike(type), media]));
}

/** The same type where one of the two has no parameters, or a range. */
function covering(type: string, others: ReadonlyMap<string, Located>): Located | undefined {
  const bare = bareOf(type);
  const [main = ''] = bare.split('/', 1);
  const same = bare === type ? [...others].find(([other]) => bareOf(other) === bare)?.[1] : others.get(bare);
  return same ?? others.get(`${main}/*`) ?? others.get('*/*');
}

function isNarrowed(type: string, others: ReadonlyMap<string, Located>): boolean {
  const start = type === '*/*' ? '' : type.slice(0, -1);
  return type.endsWith('/*') && [...others.keys()].some((other) => other.startsWith(start));
}

function bareOf(type: string): string {
  return type.split(';', 1)[0] ?? '';
}

function wireOf(type: string): Wire {
  if (type.startsWith('multipart/')) return 'multipart';
  if (/^(application\/x-www-form-urlencoded|text\/(?!json|xml))/.test(type)) return 'text';
  if (/[/+]xml(;|$)/.test(type)) return 'xml';
  return /^(application\/(octet-stream|pdf|zip|gzip)|(image|audio|video|font)\/)/.test(type) ? 'bytes' : 'json';
}
