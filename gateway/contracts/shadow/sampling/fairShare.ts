// At most this many unused samples are saved.
const maxSavedUp = 8;
// After this time, the samples of each entry are counted anew.
const periodMs = 600_000;
// Requests whose client and route are looked up, per second: a multiple of the rate, and a minimum. More look-ups would cost CPU time
// and hardly change the sample.
const lookUpsPerSample = 100;
const fewestLookUps = 100;
// Above this number of entries, all further clients of a route share one entry.
const maxEntries = 1024;

/** The two limits of the sample. */
interface FairShareSettings {
  /** The share of requests that are sampled, 0 to 1. */
  readonly sample: number;
  /** Samples per second. */
  readonly rate: number;
}

/**
 * Chooses requests for the sample so that no client and no route fills it. Two budgets limit the sample: a share of the requests,
 * and a rate. A part of both is reserved for the entries (a client on a route) with fewer samples than the average entry. Any other
 * entry gets a sample only if more than the reserve is left. So nearly all requests of a rare client are sampled, and a client that
 * sends nearly all requests gets the samples that remain.
 */
export class FairShare {
  readonly #sampledShare: number;
  readonly #rate: number;
  /** The limit of `#allowedByRate`: the samples of one second, and at least 2. */
  readonly #maxByRate: number;
  readonly #random: () => number;
  /** Samples that the share of requests allows now. */
  #allowedByShare = 0;
  /** Samples that the rate allows now. */
  #allowedByRate: number;
  /** Requests that may be looked up now. */
  #lookUpsLeft: number;
  /** The limit of `#lookUpsLeft`: the look-ups of a tenth of a second. */
  readonly #maxLookUps: number;
  /** Per second. */
  readonly #lookUpRate: number;
  #refilledAt = Number.NaN;
  #periodEndsAt = Number.NaN;
  /** Entry → its samples in this period. */
  readonly #taken = new Map<string, number>();
  #totalTaken = 0;

  /** `random`: from 0 to 1. Tests replace it. */
  constructor({ sample, rate }: FairShareSettings, random: () => number = Math.random) {
    this.#sampledShare = sample;
    this.#rate = rate;
    this.#maxByRate = Math.max(2, rate);
    this.#allowedByRate = this.#maxByRate;
    this.#lookUpRate = Math.max(fewestLookUps, rate * lookUpsPerSample);
    this.#maxLookUps = this.#lookUpRate / 10;
    this.#lookUpsLeft = this.#maxLookUps;
    this.#random = random;
  }

  /** Counts a request. @returns whether the budgets allow `takeFor` to sample it. `now`: monotonic ms */
  hasBudget(now: number): boolean {
    // At random, because a client may repeat a sequence of requests, and a fixed interval could select the same one each time.
    if (this.#random() < this.#sampledShare) this.#allowedByShare = Math.min(maxSavedUp, this.#allowedByShare + 1);
    if (this.#allowedByShare < 1) return false;
    this.#refill(now);
    if (this.#allowedByRate < 1) return false;
    // While at least half of the look-ups are left, every request is looked up. Below that, only a share of the requests.
    if (this.#random() * this.#maxLookUps > 2 * this.#lookUpsLeft) return false;
    this.#lookUpsLeft -= 1;
    return true;
  }

  /** Called for a request within the budgets. `client` and `route` name its entry. @returns whether it is sampled */
  takeFor(client: string, route: string): boolean {
    const entry = this.#entryOf(client, route);
    const taken = this.#taken.get(entry) ?? 0;
    // Real number + 0.1, so that an entry at the average has its share. A single entry is always at the average, and must not take the
    // reserve.
    const entryCount = this.#taken.size + 0.1;
    const hasItsShare = taken * entryCount > this.#totalTaken;
    if (hasItsShare && this.#isOnlyReserveLeft()) return false;
    this.#taken.set(entry, taken + 1);
    this.#totalTaken += 1;
    this.#allowedByShare -= 1;
    this.#allowedByRate -= 1;
    return true;
  }

  /**
   * Gives an unusable sample back to the budgets. It still counts for its entry, so that requests which never give a usable sample are
   * not tried again and again.
   */
  giveBack(): void {
    this.#allowedByShare = Math.min(maxSavedUp, this.#allowedByShare + 1);
    this.#allowedByRate = Math.min(this.#maxByRate, this.#allowedByRate + 1);
  }

  /** Whether only the reserve is left. If all requests are to be sampled (`sample` is 1), the share of requests has no reserve. */
  #isOnlyReserveLeft(): boolean {
    const reservedOfShare = (maxSavedUp / 2) * (1 - this.#sampledShare);
    const reservedOfRate = this.#maxByRate / 4;
    return (
      this.#allowedByShare < 1 + reservedOfShare || this.#allowedByRate < Math.min(this.#maxByRate, 1 + reservedOfRate)
    );
  }

  #refill(now: number): void {
    const elapsed = Number.isNaN(this.#refilledAt) ? 0 : now - this.#refilledAt;
    this.#refilledAt = now;
    this.#allowedByRate = Math.min(this.#maxByRate, this.#allowedByRate + (elapsed / 1000) * this.#rate);
    this.#lookUpsLeft = Math.min(this.#maxLookUps, this.#lookUpsLeft + (elapsed / 1000) * this.#lookUpRate);
    if (now < this.#periodEndsAt) return;
    this.#periodEndsAt = now + periodMs;
    this.#taken.clear();
    this.#totalTaken = 0;
  }

  #entryOf(client: string, route: string): string {
    const entry = `${client} ${route}`;
    return this.#taken.size < maxEntries || this.#taken.has(entry) ? entry : route;
  }
}
