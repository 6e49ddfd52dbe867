import { z } from 'zod';
import { notifyEvents } from '../notifySettings.ts';
import { webhookUrl } from './network.ts';
import { optionalOrEmpty, scalar, section, WrongValue } from './scalar.ts';
import { oneOf } from './words.ts';

// Standard Webhooks: keys have 24 to 64 bytes.
const [minKeyBytes, maxKeyBytes] = [24, 64];

/** A signing key in the form of Standard Webhooks: `whsec_` and base64. Parsed to the base64 text. */
const signingSecret = scalar({
  accepts: ['string'],
  expected:
    'whsec_ and 24 to 64 random bytes as base64, such as the output of: echo "whsec_$(openssl rand -base64 32)"',
  json: { type: 'string', pattern: '^(whsec_)?[A-Za-z0-9+/]+={0,2}$' },
  parse: (input): string | WrongValue => {
    const text = input.replace(/^whsec_/, '');
    const bytes = Buffer.from(text, 'base64');
    // Buffer skips characters that are not base64.
    if (bytes.toString('base64').replace(/=+$/, '') !== text.replace(/=+$/, '')) return new WrongValue('is not base64');
    if (bytes.length < minKeyBytes) return new WrongValue(`has fewer than ${minKeyBytes} bytes`);
    return bytes.length > maxKeyBytes ? new WrongValue(`has more than ${maxKeyBytes} bytes`) : text;
  },
});

const receiver = section({
  url: optionalOrEmpty(webhookUrl).describe(
    'The URL of the webhook. Required. If its variable is empty, nothing is sent.',
  ),
  format: oneOf(['json', 'slack'])
    .prefault('json')
    .describe('json: an object with type, timestamp and data. slack: a message for an incoming webhook of Slack.'),
  secret: optionalOrEmpty(signingSecret).describe(
    'The key that signs each request, as Standard Webhooks describes. Without it, requests are not signed.',
  ),
  events: z
    .array(oneOf(notifyEvents))
    .prefault([...notifyEvents])
    .describe('Which events are sent. [notifications.md](notifications.md) describes them.'),
  digest: oneOf(['off', 'weekly']).prefault('off').describe('weekly: a summary is sent every Monday, 06:00 UTC.'),
  networks: oneOf(['any', 'public'])
    .prefault('any')
    .describe(
      'public: nothing is sent to a loopback, link-local, private or reserved address, even if the name of the host resolves to one. Through a proxy, only an address in `url` is checked.',
    ),
});

/** The webhooks that receive events about the end of versions. */
export const notify = z.array(receiver);
