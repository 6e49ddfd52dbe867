import type { Answer } from './remark.ts';

/**
 * A request is lost if it is answered with one of these statuses, by the gateway or by the backend. It is also lost if the gateway itself
 * refuses it because of a setting.
 */
export const lostStatuses: ReadonlySet<number> = new Set([404, 405, 502, 503, 504, 508]);

/** Requests that have ended, and how many of them were lost. */
export interface LostShare {
  readonly requests: number;
  readonly lost: number;
}

// One lost request, or two, may be a client with a wrong path.
const minLost = 3;
const minRise = 0.05;
const minOddsRatio = 2;
/**
 * How often a share that did not change may look like a jump: at one look while requests are still counted, and at the last look.
 * With at most eleven looks before the last one, it is less than 1% for each edit and version.
 */
const maxFalseAlarms = { early: 0.0004, last: 0.005 };
/** How often a jump to half of the requests may be overlooked by a `no`. */
const maxOverlooked = 0.05;

/**
 * Whether the share of lost requests has jumped. `isLast`: all requests are counted; false: more will follow.
 *
 * `yes` needs all of this:
 * - at least 3 requests were lost afterwards;
 * - the share is at least 5 percentage points higher, and its odds (lost : not lost) have at least doubled;
 * - it is no coincidence: if the share had not changed, so many of the lost requests would come afterwards with a probability of
 *   at most 0.04%, or 0.5% at the last look (Fisher's exact test, one-sided).
 *
 * `no` needs enough requests before and afterwards that a jump could have been found: the loss of every request, by the test above,
 * and a jump to half of the requests (or half-way to all of them, from a share of more than 0), with a probability of 95%.
 *
 * Everything else is `not known`, such as a version without requests before or afterwards.
 */
export function lostShareJump(before: LostShare, after: LostShare, isLast: boolean): Answer {
  if (before.requests === 0 || after.requests === 0) return 'not known';
  if (hasRisen(before, after)) {
    const limit = isLast ? maxFalseAlarms.last : maxFalseAlarms.early;
    return after.lost >= minLost && chanceOfSoManyLost(before, after) <= limit ? 'yes' : 'not known';
  }
  const { requests } = after;
  const wouldFindLossOfAll =
    requests >= minLost &&
    chanceOfSoManyLost({ ...before, lost: 0 }, { requests, lost: requests }) <= maxFalseAlarms.last;
  const halfway = (1 + before.lost / before.requests) / 2;
  return wouldFindLossOfAll && chanceOfSoFewLost(after, halfway) <= maxOverlooked ? 'no' : 'not known';
}

function hasRisen(before: LostShare, after: LostShare): boolean {
  const rise = after.lost / after.requests - before.lost / before.requests;
  const answeredBefore = before.requests - before.lost;
  const answeredAfter = after.requests - after.lost;
  // The odds are compared by their products, so that no divisor is 0.
  return rise >= minRise && after.lost * answeredBefore >= minOddsRatio * before.lost * answeredAfter;
}

/** The probability that at least `after.lost` of all lost requests come afterwards if the share is the same: the upper hypergeometric tail. */
function chanceOfSoManyLost(before: LostShare, after: LostShare): number {
  const lost = before.lost + after.lost;
  const mostLost = Math.min(after.requests, lost);
  let term = Math.exp(
    lnChoose(after.requests, after.lost) +
      lnChoose(before.requests, before.lost) -
      lnChoose(before.requests + after.requests, lost),
  );
  let sum = term;
  for (let at = after.lost; at < mostLost && term > sum * negligible; at += 1) {
    term *= ((after.requests - at) * (lost - at)) / ((at + 1) * (before.requests - lost + at + 1));
    sum += term;
  }
  return sum;
}

/** The probability that at most `lost` of the requests are lost if each is with probability `share`: the lower binomial tail. */
function chanceOfSoFewLost({ requests, lost }: LostShare, share: number): number {
  // Half of the distribution lies below its mean. The loop would be long, and its terms would grow.
  if (lost >= requests * share) return 1;
  let term = Math.exp(lnChoose(requests, lost) + lost * Math.log(share) + (requests - lost) * Math.log1p(-share));
  let sum = term;
  for (let at = lost; at > 0 && term > sum * negligible; at -= 1) {
    term *= (at * (1 - share)) / ((requests - at + 1) * share);
    sum += term;
  }
  return sum;
}

/** Terms below this part of the sum do not change it. */
const negligible = 1e-12;

/** The logarithm of the binomial coefficient. */
function lnChoose(of: number, chosen: number): number {
  return lnFactorial(of) - lnFactorial(chosen) - lnFactorial(of - chosen);
}

function lnFactorial(number: number): number {
  if (number < 16) {
    let product = 1;
    for (let factor = 2; factor <= number; factor += 1) product *= factor;
    return Math.log(product);
  }
  // Stirling's series for the gamma function. From 16 on, its error is below 1e-11.
  const x = number + 1;
  const correction = 1 / (12 * x) - 1 / (360 * x ** 3) + 1 / (1260 * x ** 5);
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + correction;
}
