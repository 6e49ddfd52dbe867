const units = [
  [86_400_000, 'day'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
  [1, 'ms'],
] as const;

/** How long before `now` an instant was (both epoch ms), in its largest unit: `3 min ago`. */
export function ago(instant: number, now: number): string {
  // The clock of the machine that was asked may be ahead of ours.
  const passed = Math.max(0, now - instant);
  return passed < 1000 ? 'just now' : `${inLargestUnit(passed)} ago`;
}

/** A length of time (ms), rounded down to its largest unit: `29 days`, `3 min`. */
export function inLargestUnit(ms: number): string {
  const [length, unit] = units.find(([one]) => ms >= one) ?? units[4];
  return counted(Math.floor(ms / length), unit);
}

/** A length of time (ms) in the largest unit that gives a whole number: `7 days`, `36 h`. */
export function inWholeUnits(ms: number): string {
  const [length, unit] = units.find(([one]) => ms >= one && ms % one === 0) ?? units[4];
  return counted(ms / length, unit);
}

function counted(count: number, unit: string): string {
  return `${count} ${unit === 'day' && count > 1 ? 'days' : unit}`;
}
