import type { Change } from '../change.ts';
import type { Occurrence } from '../collect.ts';
import { routeInWords } from '../diff/routes.ts';
import { predicateOf } from './rules.ts';
import { subjectOf } from './subjects.ts';

/** "GET /drinks: response 200 field `price` was a string and is now a number". */
export function sentenceOf(change: Change, { route, steps }: Occurrence): string {
  const subject = subjectOf(steps, change);
  const predicate = predicateOf(change);
  if (route === undefined) return `${subject || 'the document'} ${predicate}`;
  return subject === '' ? `${routeInWords(route)} ${predicate}` : `${routeInWords(route)}: ${subject} ${predicate}`;
}
