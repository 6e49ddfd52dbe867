const units = [
  [86_400_000, 'day'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
] as const;

/** How long ago an instant (RFC 3339) is, in its largest unit: `3 min ago`. */
export function ago(instant: string, now: number): string {
  // The clock of the machine that was asked may be ahead of ours.
  const passed = Math.max(0, now - Date.parse(instant));
  const [length, unit] = units.find(([ms]) => passed >= ms) ?? [];
  if (length === undefined) return 'just now';
  const count = Math.floor(passed / length);
  return `${count} ${unit === 'day' && count > 1 ? 'days' : unit} ago`;
}
