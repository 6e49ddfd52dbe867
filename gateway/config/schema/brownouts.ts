import { z } from 'zod';
import { scalar, section, Wrong } from './scalar.ts';
import { periodOrOff, share } from './units.ts';
import { text } from './words.ts';

/** 404 is missing: proxies have turned it into an empty 200. And 429 would tell clients to send the same request again. */
const refusalStatus = scalar({
  accepts: ['number'],
  expected: '503 or 410',
  json: { enum: [503, 410] },
  parse: (input): 503 | 410 | Wrong => (input === 503 || input === 410 ? input : new Wrong('is not 503 or 410')),
});

/**
 * What all brownouts have in common. A brownout has to be announced, has to be small, and may only hit clients that somebody
 * could inform.
 */
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
