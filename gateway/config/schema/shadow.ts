import { z } from 'zod';
import { section } from './scalar.ts';
import { instant, rate, share, size, timer } from './units.ts';
import { integer, oneOf, text, versionName } from './words.ts';

const routes = section({
  deny: z
    .array(text('a route such as "GET /export"'))
    .prefault([])
    .describe('Routes whose requests are never copied, such as "GET /export". A GET includes HEAD.'),
});

/** Copies requests of a version to another version. */
export const shadow = section({
  to: versionName.optional().describe('The version that gets the copies, such as /v2. Required.'),
  sample: share
    .prefault('1%')
    .describe('The share of GET and HEAD requests that are copied. Rare clients and routes are preferred.'),
  rate: rate.prefault('5/s').describe('The maximum of copies, including those for `control`.'),
  in_flight: integer(1, 1000).prefault(4).describe('The maximum of copies that have no complete response yet.'),
  timeout: timer.prefault('5s').describe('The longest time until the response to a copy is complete; at most 1m.'),
  body: size
    .prefault('256KiB')
    .describe('The largest response body that is compared, before and after it is decoded; at most 8MiB.'),
  control: share
    .prefault('10%')
    .describe(
      'The share of copied requests that are also sent to this version a second time, to find the fields that differ between two of its own responses.',
    ),
  credentials: oneOf(['drop', 'pass'])
    .prefault('drop')
    .describe(
      'drop: copies carry only fields that a comparison needs and that identify nobody, such as Accept. pass: they carry all fields, so both backends must be equally trusted.',
    ),
  values: oneOf(['on', 'off'])
    .prefault('off')
    .describe(
      'on: values of sampled requests are kept in memory, so that `shadow export --values` can write them to a file. off: only the names and types of parameters are kept.',
    ),
  routes: routes.prefault({}).describe('Which routes are copied. By default, all.'),
  until: instant.optional().describe('The time from which nothing is copied; at most a year ahead. Required.'),
}).describe(
  'Sends copies of some GET and HEAD requests to another version after the client has its response, and compares the two responses. See docs/shadow.md.',
);

/** Comparison of the responses of a version with its own contract. */
export const drift = section({
  sample: share
    .prefault('1%')
    .describe(
      'The share of GET and HEAD requests whose responses are compared. Rare clients and routes are preferred.',
    ),
  rate: rate.prefault('5/s').describe('The maximum of compared responses, in each worker.'),
  body: size
    .prefault('256KiB')
    .describe('The largest response body that is compared, before and after it is decoded; at most 8MiB.'),
  until: instant.optional().describe('The time from which nothing is compared; at most a year ahead. Required.'),
}).describe(
  'Compares some responses of this version with its own contract, after the client has received them. No request is sent. See docs/drift.md.',
);
