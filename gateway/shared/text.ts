const units = [
  [86_400_000, 'day'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
  [1, 'ms'],
] as const;

/** How long before `now` an instant was (both epoch ms), in its largest unit: `3 min ago`. */
export function ago(instant: number, now: number): string {
  // The clock of another machine may be ahead of ours.
  const passed = Math.max(0, now - instant);
  return passed < 1000 ? 'just now' : `${inLargestUnit(passed)} ago`;
}

/** A duration in ms, rounded down to its largest unit: `29 days`, `3 min`. */
export function inLargestUnit(ms: number): string {
  const [unitMs, unit] = units.find(([lengthMs]) => ms >= lengthMs) ?? units[4];
  return withUnit(Math.floor(ms / unitMs), unit);
}

/** A duration in ms, in the largest unit that gives a whole number: `7 days`, `36 h`. */
export function inWholeUnits(ms: number): string {
  const [unitMs, unit] = units.find(([lengthMs]) => ms >= lengthMs && ms % lengthMs === 0) ?? units[4];
  return withUnit(ms / unitMs, unit);
}

/** A duration in ms, rounded down to the largest unit that gives a number of at least 2: `30 days`, `36 h`, `90 min`. */
export function roughPeriod(ms: number): string {
  const [unitMs, unit] = units.find(([lengthMs]) => ms >= 2 * lengthMs) ?? units[4];
  return withUnit(Math.floor(ms / unitMs), unit);
}

function withUnit(count: number, unit: string): string {
  return `${count} ${unit === 'day' && count > 1 ? 'days' : unit}`;
}

/** A number of bytes in the largest unit that gives a number of at least 1, rounded down: `48.2 KiB`, `812 bytes`. */
export function inBytes(bytes: number): string {
  const unit = [
    [2 ** 30, 'GiB'],
    [2 ** 20, 'MiB'],
    [2 ** 10, 'KiB'],
  ].find(([size]) => bytes >= Number(size));
  if (unit === undefined) return plural(bytes, 'byte');
  return `${Math.floor((bytes * 10) / Number(unit[0])) / 10} ${unit[1]}`;
}

/** `1,204 requests`, `1 request`. `count`: a whole number. */
export function plural(count: number, noun: string): string {
  return `${withCommas(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** The first items of a list of `count`: `a, b and 3 more`. */
export function firstOf<Item>(
  items: readonly Item[],
  max: number,
  inWords: (item: Item) => string = String,
  count = items.length,
): string {
  const shown = items.slice(0, max).map(inWords);
  const more = count - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${withCommas(more)} more` : ''}`;
}

/** A whole number as `1,204`. Not with `Intl`, which takes longer to load than a short command takes to run. */
export function withCommas(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

// Control characters; characters that reverse or hide text (bidirectional overrides, zero widths); lone surrogates; and
// separators that some programs treat as line ends.
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/** Untrusted text that is safe to print: characters that could move the cursor, end the line or reverse text are escaped. */
export function printable(text: string): string {
  return text.replace(unprintable, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
  });
}

/** Like `printable`, and at most `length` characters long, so that one client cannot fill a page. */
export function printableExcerpt(text: string, length = 60): string {
  // Cut before escaping as well: a User-Agent may be as long as the head of a request.
  const characters = [...printable(text.slice(0, 4 * length))];
  return characters.length > length ? `${characters.slice(0, length - 1).join('')}…` : characters.join('');
}

/** Untrusted text of any length, safe to print in a terminal and in the log of a CI job. */
export function safeText(text: string, maxLength = 300): string {
  // GitHub Actions reads a line that begins with `::` or contains `##[` as a command.
  return printableExcerpt(text, maxLength)
    .replaceAll('##[', '#\\x23[')
    .replace(/^\s*::/, '\\x3a:');
}

/** At most `length` characters, the last of them an ellipsis if the text is longer. */
export function shortened(text: string, length = 80): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

/** `5%`, `0.1%`, `33.3%` */
export function percent(share: number): string {
  return `${Math.round(share * 1000) / 10}%`;
}

const userinfoPattern = /\/\/[^\s"']*@|[^\s"'/:]+:(?!\/\/)[^\s"']*@/g;

/** Hides user and password of the URLs in a text, for logs. */
export function maskUserinfo(text: string): string {
  return text.replace(userinfoPattern, (hit) => (hit.startsWith('//') ? '//***@' : '***@'));
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The message of whatever was thrown. Not safe to print. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
