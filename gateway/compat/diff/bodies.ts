import { below, entriesOf, isMap, type Located } from '../document/located.ts';
import type { Comparison, Direction, Step } from './change.ts';
import { addChange, addPart, compareDocs } from './comparison.ts';
import { type Caller, type ContractPair, directionsOf } from './contractPair.ts';
import { compareEncodings, hasEncodings, normalizedType } from './encodings.ts';
import type { Wire } from './schemaPair.ts';

const step: Step = { kind: 'part', text: 'request body' };

/** Compares request bodies. The body of a webhook is a field of what clients receive. */
export function compareBodies(
  old: Located,
  now: Located,
  caller: Caller,
  contracts: ContractPair,
  into: Comparison,
): void {
  const isClient = caller === 'client';
  if (isMap(old.value) && isMap(now.value)) {
    const comparison = contracts.compareUnlessIdentical(`body ${caller}`, old, now, (before, after, body) =>
      compareBody(before, after, caller, contracts, body),
    );
    addPart(into, step, comparison);
  } else if (isMap(old.value)) {
    if (isClient) addChange(into, { kind: 'body', effect: 'removed', old, new: undefined });
    else addBodyField(into, 'removed', old, undefined);
  } else if (isMap(now.value)) {
    const effect = isRequired(contracts.new.resolve(now)) ? 'added_required' : 'added';
    if (isClient) addChange(into, { kind: 'body', effect, old: undefined, new: now });
    else addBodyField(into, effect, undefined, now);
  }
}

function addBodyField(
  into: Comparison,
  effect: 'added' | 'added_required' | 'removed',
  old: Located | undefined,
  now: Located | undefined,
): void {
  addChange(into, { kind: 'field', effect, direction: 'response', name: 'body', old, new: now });
}

function compareBody(old: Located, now: Located, caller: Caller, contracts: ContractPair, into: Comparison): void {
  compareDocs(old, now, into);
  if (isRequired(old) !== isRequired(now)) {
    const effect = isRequired(now) ? 'required' : 'optional';
    const places = { old: below(old, 'required'), new: below(now, 'required') };
    if (caller === 'client') addChange(into, { kind: 'body', effect, ...places });
    else addChange(into, { kind: 'presence', effect, direction: 'response', name: 'body', ...places });
  }
  compareContent(below(old, 'content'), below(now, 'content'), directionsOf(caller).request, contracts, into);
}

function isRequired({ value }: Located): boolean {
  return isMap(value) && value['required'] === true;
}

/** Compares bodies by media type. A range such as `application/*` includes the types it matches. */
export function compareContent(
  old: Located,
  now: Located,
  direction: Direction,
  contracts: ContractPair,
  into: Comparison,
): void {
  const [before, after] = [mediaTypesOf(old), mediaTypesOf(now)];
  const isOnly = before.size < 2 && after.size < 2;
  for (const [type, media] of before) {
    const kept = after.get(type) ?? including(type, after);
    // A response that narrows a range to some of its types: they are compared with the range below.
    if (kept === undefined && direction === 'response' && includesAny(type, after)) continue;
    if (kept === undefined)
      addChange(into, { kind: 'media_type', effect: 'removed', direction, name: type, old: media, new: undefined });
    else {
      const comparison = compareMedia(type, media, kept, direction, contracts);
      addPart(into, isOnly ? undefined : { kind: 'part', text: type }, comparison);
    }
  }
  for (const [type, media] of after) {
    if (before.has(type)) continue;
    const wider = including(type, before);
    if (wider) addPart(into, { kind: 'part', text: type }, compareMedia(type, wider, media, direction, contracts));
    else addChange(into, { kind: 'media_type', effect: 'added', direction, name: type, old: undefined, new: media });
  }
}

function compareMedia(
  type: string,
  old: Located,
  now: Located,
  direction: Direction,
  contracts: ContractPair,
): Comparison | undefined {
  const wire = wireOf(type);
  // Encodings depend on the media type itself, everything else on the wire only.
  const aspect = `media ${direction} ${hasEncodings(type) ? type : wire}`;
  return contracts.compareUnlessIdentical(aspect, old, now, (before, after, into) => {
    const compareAt = (keyword: string): Comparison | undefined =>
      contracts.compareSchemas(below(before, keyword), below(after, keyword), direction, wire);
    compareDocs(before, after, into);
    addPart(into, undefined, compareAt('schema'));
    addPart(into, { kind: 'items', text: '[]' }, compareAt('itemSchema'));
    compareEncodings(type, before, after, direction, contracts, into);
  });
}

function mediaTypesOf(content: Located): Map<string, Located> {
  return new Map(entriesOf(content).map(([type, media]) => [normalizedType(type), media]));
}

/** The entry for the same type with or without parameters, or for a range that includes it. */
function including(type: string, others: ReadonlyMap<string, Located>): Located | undefined {
  const bare = withoutParameters(type);
  const [main = ''] = bare.split('/', 1);
  const same = bare === type ? [...others].find(([other]) => withoutParameters(other) === bare)?.[1] : others.get(bare);
  return same ?? others.get(`${main}/*`) ?? others.get('*/*');
}

/** Whether `type` is a range that includes one of the others. */
function includesAny(type: string, others: ReadonlyMap<string, Located>): boolean {
  const prefix = type === '*/*' ? '' : type.slice(0, -1);
  return type.endsWith('/*') && [...others.keys()].some((other) => other.startsWith(prefix));
}

function withoutParameters(type: string): string {
  return type.split(';', 1)[0] ?? '';
}

function wireOf(type: string): Wire {
  if (type.startsWith('multipart/')) return 'multipart';
  if (/^(application\/x-www-form-urlencoded|text\/(?!json|xml))/.test(type)) return 'text';
  if (/[/+]xml(;|$)/.test(type)) return 'xml';
  return /^(application\/(octet-stream|pdf|zip|gzip)|(image|audio|video|font)\/)/.test(type) ? 'bytes' : 'json';
}
