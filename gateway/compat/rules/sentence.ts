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

/** "/v3 holds only additions to /v2: stay in /v2". */
export function needlessMajorSentence(
  old: string,
  now: string,
  content: 'same' | 'additions' | 'nothing breaking',
): string {
  return `${now} ${majorPhrases[content]} ${old}: stay in ${old}`;
}

const majorPhrases = {
  same: 'is the same as',
  additions: 'holds only additions to',
  'nothing breaking': 'breaks nothing of',
} as const;
