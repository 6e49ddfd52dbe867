import { dayText } from '../../shared/instant.ts';
import { firstOf, inBytes, plural, printableExcerpt } from '../../shared/text.ts';
import type { Remark } from '../../usage/evidence/remark.ts';
import type { TooLarge } from './ownAnswers.ts';
import { type PlannedTooLarge, sizeAnswers } from './plan.ts';

const maxNamed = 5;

export function plannedTooLarge({
  version,
  route,
  part,
  setting,
  limit,
  largest,
  at,
  isKnown,
}: TooLarge): PlannedTooLarge {
  const { status } = sizeAnswers[part];
  const day = dayText(at);
  return { version, route, part, status, setting, limit, largest, day, known: isKnown };
}

/**
 * `limits.body would be 1 KiB (413), and the largest body at POST /cocktails of /v2 was 48 KiB`. Safe to print. Undefined: no request is
 * known to be too large.
 */
export function tooLargeInWords(list: readonly PlannedTooLarge[]): string | undefined {
  const known = list.filter((one) => one.known);
  const [first] = known;
  if (first === undefined) return undefined;
  const { version, route, part, status, setting, limit, largest } = first;
  const others = new Set(known.map((one) => `${one.version} ${one.route}`)).size - 1;
  const more = others === 0 ? '' : `; ${plural(others, 'more route')} had such requests`;
  const [limitWords, largestWords] = distinctSizes(limit, largest);
  const found = `the ${sizeAnswers[part].words} at ${printableExcerpt(route)} of /${version} was ${largestWords}`;
  return `${setting} would be ${limitWords} (${status}), and ${found}${more}`;
}

/** Two different sizes in words that differ. */
export function distinctSizes(a: number, b: number): [string, string] {
  const words = [inBytes(a), inBytes(b)] as [string, string];
  return words[0] === words[1] ? [plural(a, 'byte'), plural(b, 'byte')] : words;
}

/** A remark for each limit that recent requests exceed, or may exceed. Safe to print. */
export function sizeRemarks(list: readonly PlannedTooLarge[]): Remark[] {
  return [...Map.groupBy(list, ({ version, part, known }) => `${version} ${part} ${known}`).values()].map((routes) => {
    const [{ version, part, setting, limit, status, known }] = routes as [PlannedTooLarge];
    const named = firstOf(routes, maxNamed, (one) => `${printableExcerpt(one.route)} (${inBytes(one.largest)})`);
    const what = `The ${sizeAnswers[part].words} of a day at these routes of /${version}: ${named}.`;
    const text = known
      ? `With ${setting} of ${inBytes(limit)}, such requests are answered ${status}. ${what}`
      : `${setting} was lowered before, so it is not known whether requests that are served now exceed ${inBytes(limit)}. ${what}`;
    return { code: known ? 'too_large' : 'too_large_unknown', text };
  });
}
