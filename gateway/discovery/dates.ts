import { type Html, html } from './html.ts';
import { rfc3339 } from './overview.ts';

const day = 86_400_000;
const spelled = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
const counted = new Intl.NumberFormat('en');

/** A date, its time of day unless that is midnight (which is how a date without a time is read), and its distance. */
export function when(instant: number, now: number): Html {
  const iso = rfc3339(instant);
  const time = instant % day === 0 ? undefined : html`<span>${iso.slice(11, 19)} UTC ·</span> `;
  return html`<time datetime="${iso}">${spelled.format(instant)}</time>
<small>${time}<span>${distance(instant, now)}</span></small>`;
}

/** How far away an instant is, in whole days: `586 days left`, `144 days ago`. */
export function distance(instant: number, now: number): string {
  const days = Math.floor(Math.abs(instant - now) / day);
  const ahead = instant > now;
  if (days === 0) return ahead ? 'less than a day left' : 'within the last day';
  return `${counted.format(days)} ${days === 1 ? 'day' : 'days'} ${ahead ? 'left' : 'ago'}`;
}
