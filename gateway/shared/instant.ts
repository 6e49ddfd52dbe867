import { printable } from './text.ts';

// Instants (epoch ms) as texts, all in UTC.

/** A time of RFC 3339 in UTC. */
export type Instant = `${number}-${number}-${number}T${string}Z`;

/** `2028-06-30T23:59:59.000Z`, as in JSON of the admin API. */
export function isoText(instant: number): Instant {
  return new Date(instant).toISOString() as Instant;
}

/** Like `isoText`; null for an unknown instant. */
export function isoTextOrNull(instant: number | undefined): Instant | null {
  return instant === undefined ? null : isoText(instant);
}

/** RFC 3339 without fractions of a second: `2028-06-30T23:59:59Z`. */
export function rfc3339(instant: number): Instant;
export function rfc3339(instant: number | undefined): Instant | undefined;
export function rfc3339(instant: number | undefined): Instant | undefined {
  return instant === undefined ? undefined : (isoText(instant).replace(/\.\d{3}Z$/, 'Z') as Instant);
}

/** The same for an instant of the admin API. Text that is no instant stays, safe to print: the answer may not be that of a gateway. */
export function rfc3339Of(text: string): string {
  const instant = Date.parse(text);
  return Number.isNaN(instant) ? printable(text) : rfc3339(instant);
}

/** `2028-06-30` */
export function dayText(instant: number): string {
  return isoText(instant).slice(0, 10);
}

/** As in routes.yaml: `2028-06-30` for midnight, `2028-06-30T23:59:59Z` for any other time. */
export function dateText(instant: number): string {
  return isoText(instant).replace('.000Z', 'Z').replace('T00:00:00Z', '');
}
