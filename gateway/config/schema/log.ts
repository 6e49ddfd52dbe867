import { z } from 'zod';
import type { LogSettings } from '../operating.ts';
import { scalar, Wrong } from './scalar.ts';
import { section } from './section.ts';
import { share } from './units.ts';
import { flag, oneOf, text } from './words.ts';

const words = ['off', 'stdout', 'stderr'] as const;

// A file has a dot or a slash in its name, so that a word that is misspelt does not become one.
const destination = scalar({
  accepts: ['string'],
  expected: 'off, stdout, stderr, or a file such as ./access.log',
  json: { type: 'string', pattern: '^(off|stdout|stderr|[^\\u0000]*[./][^\\u0000]*)$' },
  parse: (input): LogSettings['access'] | Wrong => {
    const word = words.find((one) => one === input);
    if (word !== undefined) return word;
    return /^[^\0]*[./][^\0]*$/.test(input) ? { file: input } : new Wrong('is not known here');
  },
});

/** What is written down of every exchange. */
export const log = section({
  access: destination
    .prefault('stdout')
    .describe('Where a line goes for each exchange: off, stdout, stderr or a file.'),
  format: oneOf(['auto', 'json', 'pretty'])
    .prefault('auto')
    .describe('JSON, or lines for people; auto: for people on a terminal.'),
  sample: share.prefault('100%').describe('The share of exchanges that get a line; errors and refusals always do.'),
  address: oneOf(['full', 'network', 'none'])
    .prefault('network')
    .describe('How much of the client’s address a line holds: all of it, its network (/24 or /48), or nothing.'),
  query: flag.prefault(false).describe('Whether a line holds the query, too.'),
  redact: z
    .array(text('the name of a query parameter'))
    .prefault([])
    .describe(
      'More query and path parameters whose values are left out, besides token, key, secret, password, session, signature and their like.',
    ),
});
