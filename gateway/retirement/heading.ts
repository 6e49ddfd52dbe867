const weekDays = 7;
// A week that has at least this much of the one before is no fall; so little comes and goes.
const steady = 0.95;
// A fall goes on where the last week brought it down neither much less nor much more than the week before did.
const likeness = 3;
// Of the seven weekdays, so many must have less than a week ago.
const mostDaysDown = 5;
// And of these the last ones, whatever came before: what has stopped falling is not falling.
const recentDays = 2;
// A fall that slows down more than that never ends where a straight line would.
const pace = 0.7;

export type Heading =
  | { readonly kind: 'ended' | 'steady' | 'not clear' }
  /** `perDay`: what each day has less than the one before; `level`: a day of the last week, on average. */
  | { readonly kind: 'falling'; readonly perDay: number; readonly level: number; readonly isSlowing: boolean };

/**
 * Where daily requests are heading, oldest first, of two whole weeks at least. Days are compared with the same weekday
 * only, since weekends are quiet without anybody having left. Of all that was before, the last three weeks count: what
 * has come down in one step and stays there is not falling any more.
 */
export function headingOf(days: readonly number[]): Heading {
  const [before, previous, last] = [3, 2, 1].map((ago) => weekOf(days, ago));
  if (previous === undefined || last === undefined) return { kind: 'not clear' };
  const [was, is] = [sum(previous), sum(last)];
  if (is === 0) return { kind: 'ended' };
  if (is >= steady * was) return { kind: 'steady' };
  if (before === undefined) return { kind: 'not clear' };
  const [first, second] = [sum(before) - was, was - is];
  const isLikely = first + second > 2 * Math.sqrt(sum(before) + is) && first + second > (1 - steady ** 2) * sum(before);
  const goesOn = first > 0 && second < likeness * first && first < likeness * second;
  if (!isLikely || !goesOn || !fallsByWeekday(previous, last)) return { kind: 'not clear' };
  // The last week says twice as much as the one before.
  const perDay = (first + 2 * second) / 3 / weekDays ** 2;
  return { kind: 'falling', perDay, level: is / weekDays, isSlowing: second < pace * first };
}

function fallsByWeekday(previous: readonly number[], last: readonly number[]): boolean {
  const down = last.filter((requests, index) => requests < (previous[index] ?? 0)).length;
  const share = shareGone(previous.slice(-recentDays), last.slice(-recentDays));
  return down >= mostDaysDown && share * likeness > shareGone(previous, last);
}

function shareGone(previous: readonly number[], last: readonly number[]): number {
  return 1 - sum(last) / Math.max(1, sum(previous));
}

function weekOf(days: readonly number[], ago: number): readonly number[] | undefined {
  const from = days.length - ago * weekDays;
  return from < 0 ? undefined : days.slice(from, from + weekDays);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
