import { addPart, type Comparison, type Step } from '../change.ts';
import { compareDocs } from '../compareDocs.ts';
import { below, isMap, type Located } from '../document/located.ts';
import { compareContent } from './compareContent.ts';
import { directions, type Flow, found, type Sides } from './sides.ts';

const step: Step = { kind: 'part', text: 'request body' };

export function compareBodies(old: Located, now: Located, flow: Flow, sides: Sides, into: Comparison): void {
  if (isMap(old.value) && isMap(now.value)) {
    addPart(
      into,
      step,
      sides.unlessTwins(`body ${flow}`, old, now, (before, after, body) => compare(before, after, flow, sides, body)),
    );
  } else if (isMap(old.value)) {
    if (flow === 'in') found(into, { kind: 'body', effect: 'removed' }, undefined, '', old, undefined);
    else found(into, { kind: 'field', effect: 'removed' }, 'response', 'body', old, undefined);
  } else if (isMap(now.value)) {
    const effect = isRequired(sides.new.resolve(now)) ? 'added_required' : 'added';
    if (flow === 'in') found(into, { kind: 'body', effect }, undefined, '', undefined, now);
    else found(into, { kind: 'field', effect }, 'response', 'body', undefined, now);
  }
}

function compare(old: Located, now: Located, flow: Flow, sides: Sides, into: Comparison): void {
  compareDocs(old, now, into);
  const [was, is] = [isRequired(old), isRequired(now)];
  if (was !== is) {
    const places = [below(old, 'required'), below(now, 'required')] as const;
    if (flow === 'in') found(into, { kind: 'body', effect: is ? 'required' : 'optional' }, undefined, '', ...places);
    else found(into, { kind: 'presence', effect: is ? 'required' : 'optional' }, 'response', 'body', ...places);
  }
  compareContent(below(old, 'content'), below(now, 'content'), directions(flow).request, sides, into);
}

function isRequired({ value }: Located): boolean {
  return isMap(value) && value['required'] === true;
}
