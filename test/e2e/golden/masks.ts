import { hostname } from 'node:os';

/** The time at which the gateway starts: a Monday, so that a digest is due. */
export const startOfRun: number = Date.parse('2031-03-03T10:10:00Z');
// A time of the run is less than this after its start. The whole run takes seconds.
const longestRunMs = 30 * 60_000;
const dayMs = 86_400_000;

/** A value that differs from run to run. `find` matches it with as little around it as possible. */
export interface Mask {
  readonly name: string;
  readonly why: string;
  readonly find: RegExp;
  readonly write: (match: string, ...groups: string[]) => string;
}

// A date that is written to the second or finer is an instant. A date alone is not: the day of the run is fixed.
const instants: readonly Mask[] = [
  {
    name: 'instant, RFC 3339',
    why: 'The clock of the gateway starts at a fixed time, but runs.',
    find: /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?/g,
    write: (text) => timeOfRun(Date.parse(text.replace(' ', 'T').replace(/Z?$/, 'Z'))) ?? text,
  },
  {
    name: 'instant, HTTP',
    why: 'As above, in header fields.',
    find: /\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT/g,
    write: (text) => timeOfRun(Date.parse(text)) ?? text,
  },
  {
    name: 'instant, calendar',
    why: 'As above, in a calendar.',
    find: /\b(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/g,
    write: (text, ...parts) => {
      const [year, month, day, hours, minutes, seconds] = parts;
      return timeOfRun(Date.parse(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}Z`)) ?? text;
    },
  },
  {
    name: 'instant, epoch',
    why: 'As above, in seconds (metrics, signatures) and milliseconds (ledger).',
    find: /(?<![\w.])\d{10}(?:\d{3}|\.\d+)?(?![\w.])/g,
    write: (text) => timeOfRun(/^\d{13}$/.test(text) ? Number(text) : Number(text) * 1000) ?? text,
  },
];

/**
 * `<run>` for a time of the run, and `<run -7d>` for one that is days before it. `<now>` for a real time of the run: Node and the file
 * system have a clock of their own. Undefined for any other time.
 */
function timeOfRun(at: number): string | undefined {
  const now = Date.now();
  if (at > now - longestRunMs && at <= now) return '<now>';
  const sinceStart = at - startOfRun;
  const days = Math.floor(sinceStart / dayMs);
  if (Number.isNaN(at) || sinceStart - days * dayMs >= longestRunMs) return undefined;
  return days === 0 ? '<run>' : `<run ${days > 0 ? '+' : ''}${days}d>`;
}

/** The traces and spans that the corpus sends. */
const idsOfCorpus = [
  '0af7651916cd43dd8448eb211c80319c',
  'b7ad6b7169203331',
  '11111111111111111111111111111111',
  '2222222222222222',
];

/** Masks that hold in every file. The first one that matches is used. */
export const masks: readonly Mask[] = [
  ...instants,
  {
    name: 'elapsed time',
    why: 'How long before the answer a request of the corpus was.',
    find: /\b\d+ (?:s|min) ago\b/g,
    write: () => '<time> ago',
  },
  {
    name: 'duration',
    why: 'The time that a request took.',
    find: /"(duration_ms|upstream_ms)":\d+(?:\.\d+)?/g,
    write: (_text, field) => `"${field}":<ms>`,
  },
  {
    name: 'request id',
    why: 'The gateway makes a random id if the client sends none.',
    find: /(?<![\w-])[\w-]{12}-[0-9a-z]{1,3}(?=["\r\n]|$)/gm,
    write: (text) => (/[A-Z_0-9]/.test(text.slice(0, 12)) ? '<request id>' : text),
  },
  {
    name: 'trace',
    why: 'The gateway makes a random trace if the client sends none, and a random span if it exports the trace.',
    find: /(?<=traceparent: 00-)([0-9a-f]{32})-([0-9a-f]{16})|(?<="trace_id":")[0-9a-f]{32}/gi,
    write: (text, trace = text, span) => {
      const shownTrace = idsOfCorpus.includes(trace) ? trace : '<trace>';
      if (span === undefined) return shownTrace;
      return `${shownTrace}-${idsOfCorpus.includes(span) ? span : '<span>'}`;
    },
  },
  {
    name: 'pseudonym',
    why: 'Each process has a random name in Via, by which it detects loops.',
    find: /version-gateway-[0-9a-f]{12}\b/g,
    write: () => 'version-gateway-<random>',
  },
  {
    name: 'grease',
    why: 'The names of unknown members are random, so that no client can rely on them.',
    find: /x_grease_[0-9a-f]{4}/g,
    write: () => 'x_grease_<random>',
  },
];

/** The widths of columns depend on their cells, such as `9 s ago` and `12 s ago`. The indentation is kept. */
export const columnWidths: Mask = {
  name: 'column width',
  why: 'The width of a column depends on its longest cell, which may be a time, a folder or a port.',
  find: /(?<=\S) {2,}/g,
  write: () => '  ',
};

/** The rates and durations of the requests of a version. */
export const rates: Mask = {
  name: 'rate',
  why: 'Requests per second, and how long they took.',
  find: /"(span_ms|requests_per_second|p50_ms|p99_ms)": [\d.]+/g,
  write: (_text, member) => `"${member}": <measured>`,
};

/** Fields that depend on the length or the bytes of a body with masked parts. */
export const bodyFields: Mask = {
  name: 'length and tag of a body',
  why: 'The body contains masked values of different lengths.',
  find: /^(content-length|etag): .*$/gim,
  write: (_text, name) => `${name}: <of the body>`,
};

/** As above, for the two feeds: their entries have the time at which the files were written. */
export const feedTags: Mask = {
  name: 'tag of a feed',
  why: 'The feed contains the time at which its files were written.',
  find: /(?<=^< Content-Type: (?:text\/calendar|application\/atom\+xml)[^<]*(?:<[^<\n]*\n){0,3}< ETag: ).*$/gm,
  write: () => '<of the body>',
};

/** The ids and marks by which a ledger recognizes its file, the machine and the process. */
export const ledgerIds: Mask = {
  name: 'id in the ledger',
  why: 'Random ids of the file and the process, the id of the boot of the machine, and its monotonic clock.',
  find: /^( {2}(?:clock|id|mark|marks) \|) .*$/gm,
  write: (_text, key) => `${key} <ids>`,
};

export const randomSalt: Mask = {
  name: 'salt',
  why: 'Without `usage.tag_key`, a ledger has a random salt, from which the id of its naming rules is made.',
  find: /(?<=^ {2}(?:salt|naming) \| )[0-9a-f]+$/gm,
  write: () => '<random>',
};

/** In a digest that is sent. `GET /api/digest` is asked later, and has the line. */
export const brownoutInDigest: Mask = {
  name: 'begun brownout',
  why: 'At the start, the digest is made while it is decided whether the brownout begins. So it may have this line or not.',
  find: /\n *"2031-03-03: the brownout of \/v5 began",|(?:• )?2031-03-03: the brownout of \/v5 began\\n/g,
  write: () => '',
};

export const prettyTimes: Mask = {
  name: 'time in the log for people',
  why: 'The local time of a request, and the time that it took.',
  find: /^\[\d\d:\d\d:\d\d\.\d{3}\]|(?<= in )[\d.]+ ms\b/gm,
  write: (text) => (text.startsWith('[') ? '[<local time>]' : '<ms>'),
};

export const signatures: Mask = {
  name: 'signature',
  why: 'It signs the time of the attempt, and the body with its ports.',
  find: /(?<=^webhook-signature: v1,)\S+$/gm,
  write: () => '<signature>',
};

/** A mask for each text that is known for this run only, such as a port. Longer texts first, because one may contain another. */
export function knownTexts(texts: readonly (readonly [text: string, label: string])[]): readonly Mask[] {
  const known: (readonly [string, string])[] = [...texts, [hostname(), '<host>']];
  return known
    .filter(([text]) => text !== '')
    .sort(([a], [b]) => b.length - a.length)
    .map(([text, label]) => ({
      name: label,
      why: 'Free ports, a temporary folder, a process and a machine, which this run knows.',
      find: new RegExp(`(?<!\\w)${RegExp.escape(text)}(?!\\w)`, 'g'),
      write: () => label,
    }));
}

export function masked(text: string, all: readonly Mask[]): string {
  return all.reduce((sum, { find, write }) => sum.replaceAll(find, (match, ...rest) => write(match, ...rest)), text);
}
