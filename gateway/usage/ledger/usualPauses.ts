import { dayMs } from './spans.ts';

/** The clients that used a version on one day. */
export interface DayOfClients {
  readonly span: number;
  /** `id first last`, separated by commas: a client's first and last request, in ms from the start of the day. */
  readonly items: string;
}

// A weekly job runs a few minutes early or late.
const tolerance = 0.75;
// A client that calls on most days and paused for a holiday or two does not usually pause that long.
const minShareOfLongPauses = 1 / 20;

/**
 * The usual pause between the requests of each client, by the client's id. Only clients that usually pause for about
 * `shortestPause` ms or longer have one. `days`: oldest first.
 */
export function usualPauses(days: readonly DayOfClients[], shortestPause: number): Map<number, number> {
  const clients = new Map<number, { last: number; pauses: number; long: number[] }>();
  for (const { span, items } of days) {
    for (const item of items.split(',')) {
      const [id = 0, first = 0, last = 0] = item.split(' ').map(Number);
      const known = clients.get(id);
      if (known === undefined) {
        clients.set(id, { last: span * dayMs + last, pauses: 0, long: [] });
        continue;
      }
      const pause = span * dayMs + first - known.last;
      known.pauses += 1;
      if (pause >= tolerance * shortestPause) known.long.push(pause);
      known.last = span * dayMs + last;
    }
  }
  const usual = new Map<number, number>();
  for (const [id, { pauses, long }] of clients) {
    // A single long pause is usual only if there was no other pause.
    const isUsual = long.length === 1 ? pauses === 1 : long.length >= 2 && long.length >= minShareOfLongPauses * pauses;
    if (isUsual) usual.set(id, long.sort((a, b) => a - b)[Math.floor((long.length - 1) / 2)] as number);
  }
  return usual;
}
