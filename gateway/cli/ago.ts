import { ago as agoAt } from '../shared/text.ts';

/** How long ago an instant (RFC 3339) is, in its largest unit: `3 min ago`. */
export function ago(instant: string, now: number): string {
  return agoAt(Date.parse(instant), now);
}
