import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import {
  giveUpMs,
  hostOf,
  messageId,
  pauseAfter,
  receiverKeyOf,
  sendEvent,
} from '../../../gateway/operate/notify/delivery.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { makePair } from '../../support/certificates.ts';
import { refusedUrl } from '../../support/gateway.ts';
import { endless, eventOf, hang, redirectTo, reset, secret, startReceiver } from './receiver.ts';

const settings = { format: 'json', secret, events: [], digest: 'off' } as const;

it('sends an event that another implementation of Standard Webhooks verifies', async () => {
  const receiver = await startReceiver();
  expect(await sendEvent(eventOf('one'), { ...settings, url: receiver.url }, Date.now())).toMatchObject({
    isAccepted: true,
    result: '204',
  });
  const [request] = receiver.received;
  if (!request) throw new Error('no request');
  const headers = request.headers as Record<string, string>;
  const verified = new Webhook(`whsec_${secret}`).verify(request.body, headers);
  expect(verified).toMatchObject({
    type: 'deprecation',
    timestamp: '2026-11-18T12:00:00.000Z',
    data: { title: 'Event one', text: 'The text of one.', version: 'v1' },
  });
  expect(() => new Webhook(`whsec_${secret}`).verify(`${request.body} `, headers)).toThrow();
  expect(headers['webhook-id']).toBe(messageId({ id: 'one' }));
  expect(headers['content-type']).toBe('application/json');
});

it('sends the same id in each attempt, and a new time', async () => {
  const receiver = await startReceiver();
  for (const now of [Date.now(), Date.now() + 60_000])
    await sendEvent(eventOf('one'), { ...settings, url: receiver.url }, now);
  const [first, second] = receiver.received.map(({ headers }) => headers);
  expect(first?.['webhook-id']).toBe(second?.['webhook-id']);
  expect(first?.['webhook-timestamp']).not.toBe(second?.['webhook-timestamp']);
});

it('sends no signature without a secret', async () => {
  const receiver = await startReceiver();
  await sendEvent(eventOf('one'), { ...settings, secret: undefined, url: receiver.url }, Date.now());
  expect(receiver.received[0]?.headers).not.toHaveProperty('webhook-signature');
  expect(receiver.received[0]?.headers['webhook-id']).toMatch(/^msg_[0-9a-f]{32}$/);
});

describe('a receiver that', () => {
  it.each([
    ['hangs', hang, 'timeout'],
    ['resets the connection', reset, 'ECONNRESET|UND_ERR_SOCKET'],
    ['answers 500', 500, '500'],
    ['answers 404', 404, '404'],
  ])('%s has not accepted the event', async (_what, behaviour, expected) => {
    // The others get the usual time, because the machine may be busy.
    const limit = expected === 'timeout' ? [300] : [];
    const receiver = await startReceiver();
    receiver.next.push(behaviour);
    const answer = await sendEvent(eventOf('one'), { ...settings, url: receiver.url }, Date.now(), ...limit);
    expect(answer.isAccepted).toBe(false);
    expect(answer.result).toMatch(new RegExp(`^(?:${expected})$`));
  });

  it('redirects gets no second request, and neither does the other host', async () => {
    const [receiver, other] = [await startReceiver(), await startReceiver()];
    receiver.next.push(redirectTo(other.url));
    expect(await sendEvent(eventOf('one'), { ...settings, url: receiver.url }, Date.now())).toMatchObject({
      isAccepted: false,
      result: '307',
    });
    expect([receiver.received.length, other.received.length]).toEqual([1, 0]);
  });

  it('sends a body without end does not keep the gateway busy', async () => {
    const receiver = await startReceiver();
    receiver.next.push(endless);
    expect(await sendEvent(eventOf('one'), { ...settings, url: receiver.url }, Date.now())).toMatchObject({
      result: '200',
    });
  });

  it('refuses connections has not accepted the event', async () => {
    const url = `${await refusedUrl()}/secret-path`;
    expect(await sendEvent(eventOf('one'), { ...settings, url }, Date.now())).toMatchObject({ result: 'ECONNREFUSED' });
  });

  it('has a certificate of nobody known gets nothing', async () => {
    const receiver = await startReceiver(makePair(temporaryFolder(), 'localhost'));
    const answer = await sendEvent(eventOf('one'), { ...settings, url: receiver.url }, Date.now());
    expect(answer).toMatchObject({ isAccepted: false, result: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    expect(receiver.received).toEqual([]);
  });
});

it('shows no part of a URL but the host', () => {
  const url = 'https://hooks.example.com:8443/services/T0/B0?token=x';
  expect(hostOf({ url })).toBe('hooks.example.com:8443');
  expect(receiverKeyOf({ url, format: 'slack' })).toMatch(/^[0-9a-f]{16}$/);
  expect(receiverKeyOf({ url, format: 'slack' })).not.toBe(receiverKeyOf({ url, format: 'json' }));
});

it('pauses longer after each attempt, obeys Retry-After within bounds, and gives up after a day', () => {
  const [first = 0, fourth = 0, tenth = 0] = [1, 4, 10].map((attempt) => pauseAfter(attempt, 0));
  expect(first).toBeLessThanOrEqual(6_000);
  expect(fourth).toBeGreaterThan(500_000);
  expect(tenth).toBeGreaterThan(3_000_000);
  for (let draw = 0; draw < 50; draw += 1)
    expect(pauseAfter(1, 0, { retryAfter: 120_000 })).toBeGreaterThanOrEqual(120_000);
  expect(pauseAfter(1, 0, { retryAfter: 999_999_000 })).toBeLessThanOrEqual(4_320_000);
  expect(pauseAfter(30, giveUpMs - 1_000_000)).toBeUndefined();
});
