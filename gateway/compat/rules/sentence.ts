import type { Change, Step } from '../change.ts';
import type { Occurrence } from '../collect.ts';
import { routeInWords } from '../walk/routes.ts';
import { predicateOf } from './rules.ts';

/** "GET /drinks: response 200 field `price` was a string and is now a number". */
export function sentenceOf(change: Change, { route, steps }: Occurrence): string {
  const subject = subjectOf(steps, change);
  const predicate = predicateOf(change);
  if (route === undefined) return `${subject || 'the document'} ${predicate}`;
  return subject === '' ? `${routeInWords(route)} ${predicate}` : `${routeInWords(route)}: ${subject} ${predicate}`;
}

/** "response 200 field `drinks[].price`"; empty for a route as a whole. Without a change: the path to it alone. */
export function subjectOf(steps: readonly Step[], change?: Change): string {
  const words: string[] = [];
  let field = '';
  const flush = (): void => {
    if (field !== '') words.push(field === '[]' ? 'item' : `field \`${field}\``);
    field = '';
  };
  for (const step of change ? [...steps, ...ownStep(change)] : steps) {
    if (step.kind === 'part') {
      flush();
      words.push(step.text);
    } else {
      field += step.kind === 'field' && field !== '' ? `.${step.text}` : step.text;
    }
  }
  flush();
  return words.join(' ');
}

/** What the change is about, where the steps do not include it: a field that only one contract has, for example. */
function ownStep({ kind, effect, name }: Change): Step[] {
  if (kind === 'body' && effect !== 'required' && effect !== 'optional')
    return [{ kind: 'part', text: 'request body' }];
  if (kind === 'type' && name === 'items') return [{ kind: 'items', text: '[]' }];
  if (kind === 'type' && name === 'additionalProperties') return [{ kind: 'field', text: '*' }];
  if (name === '') return [];
  if (kind === 'field' || kind === 'presence') return [{ kind: 'field', text: name }];
  if (kind === 'header') return [{ kind: 'part', text: `header \`${name}\`` }];
  if (kind === 'status' || kind === 'error_status') return [{ kind: 'part', text: `response ${name}` }];
  if (kind === 'media_type') return [{ kind: 'part', text: `media type \`${name}\`` }];
  return kind === 'parameter' ? [{ kind: 'part', text: name }] : [];
}
