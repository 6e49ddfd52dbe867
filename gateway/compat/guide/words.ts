import { printable } from '../../shared/text.ts';

/** Text as it is, or a name that stands between backticks. */
export interface Part {
  readonly isCode: boolean;
  readonly text: string;
}

/** A backtick in a name only shifts what is taken for code: every part is escaped by whoever shows it. */
export function partsOf(text: string): Part[] {
  return text
    .split('`')
    .map((part, index) => ({ isCode: index % 2 === 1, text: printable(part) }))
    .filter((part) => part.text !== '');
}

/** A name of the contract, for a text. */
export function named(name: string): string {
  return `\`${name.replaceAll('`', "'")}\``;
}

/** As many as a reader looks at, and what is left of them in words. */
export function firstOf<Item>(
  items: readonly Item[],
  most = 12,
): { readonly shown: readonly Item[]; readonly more: string } {
  const left = items.length - most;
  return left < 1 ? { shown: items, more: '' } : { shown: items.slice(0, most), more: ` and ${left} more` };
}

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });

/** "30 June 2029", and its time of day in UTC unless it is midnight. */
export function dateInWords(instant: number): string {
  const time = new Date(instant).toISOString().slice(11, 16);
  return time === '00:00' ? day.format(instant) : `${day.format(instant)}, ${time} UTC`;
}

/** A name for links: lower-case letters, digits and hyphens, and not one that is taken. */
export function anchorFor(text: string, taken: Set<string>): string {
  const plain =
    text
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
      .slice(0, 80) || 'route';
  let anchor = plain;
  for (let count = 2; taken.has(anchor); count += 1) anchor = `${plain}-${count}`;
  taken.add(anchor);
  return anchor;
}
