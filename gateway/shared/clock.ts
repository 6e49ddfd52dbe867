/** Where the time comes from: epoch milliseconds. Tests bring their own. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: Date.now };
