import { z } from 'zod';
import { scalar, section, Wrong } from './scalar.ts';
import { period, periodOrOff, share, timeOfDay } from './units.ts';
import { text } from './words.ts';

const window = section({
  at: timeOfDay.describe('When the window begins: a time with its zone, such as 2027-03-02T14:00Z.'),
  for: period.describe('How long the window lasts, from 15m to 24h.'),
  clients: share
    .prefault('100%')
    .describe(
      'The share of clients that are refused. A client is refused for the whole window or not at all. A larger share includes the clients of a smaller one.',
    ),
  routes: z
    .array(text('a route such as "GET /drinks/{id}"'))
    .min(1)
    .optional()
    .describe('The routes that are refused, such as "GET /drinks/{id}". Without it: all.'),
});

/** The windows in which some requests of a version are refused. */
export const brownouts = z
  .array(window)
  .prefault([])
  .describe(
    'Announced periods in which requests of some clients are refused on purpose, so that they notice the end of the version. They lie between its deprecation and its sunset.',
  );

const refusalStatus = scalar({
  accepts: ['number'],
  expected: '503 or 410',
  json: { enum: [503, 410] },
  parse: (input): 503 | 410 | Wrong => (input === 503 || input === 410 ? input : new Wrong('is not 503 or 410')),
});

/** What all brownouts have in common. */
export const brownout = section({
  notice: periodOrOff
    .prefault('14d')
    .describe('The shortest time from the announcement of a brownout to its start. The reload guard enforces it.'),
  status: refusalStatus
    .prefault(503)
    .describe('The status of refused requests: 503, or 410. Caches and clients may treat 410 as final.'),
  spare: z
    .array(text('the name of a client'))
    .prefault([])
    .describe(
      'Clients that brownouts never refuse: names of `usage.names`, or of the ledger. Those of `retire.ignore_clients` are never refused either.',
    ),
  unnamed: share
    .prefault('5%')
    .describe(
      'A brownout is skipped if clients without a name in `usage.names` made a larger share of the requests to the version in the last week: nobody could inform them.',
    ),
  max_share: share
    .prefault('20%')
    .describe(
      'A brownout is skipped if it would refuse a larger share of all requests, estimated from the requests of the last week.',
    ),
});
