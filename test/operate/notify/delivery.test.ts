import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  giveUpMs,
  hostOf,
  messageId,
  pauseAfter,
  receiverKeyOf,
  WebhookSender,
} from '../../../gateway/operate/notify/delivery.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { makeAuthority, makePair } from '../../support/certificates.ts';
import { eventually } from '../../support/eventually.ts';
import { startForwardProxy } from '../../support/forwardProxy.ts';
import { refusedUrl } from '../../support/gateway.ts';
import { endless, eventOf, hang, redirectTo, reset, secret, startReceiver } from './receiver.ts';

const settings = { format: 'json', secret, events: [], digest: 'off', networks: 'any' } as const;

const sender = new WebhookSender();
afterAll(() => sender.close());
afterEach(() => {
  vi.unstubAllEnvs();
});

it('sends an event that another implementation of Standard Webhooks verifies', async () => {
  const receiver = await startReceiver();
  expect(await sender.send(eventOf('one'), { ...settings, url: receiver.url }, Date.now())).toMatchObject({
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
    await sender.send(eventOf('one'), { ...settings, url: receiver.url }, now);
  const [first, second] = receiver.received.map(({ headers }) => headers);
  expect(first?.['webhook-id']).toBe(second?.['webhook-id']);
  expect(first?.['webhook-timestamp']).not.toBe(second?.['webhook-timestamp']);
});

it('sends no signature without a secret', async () => {
  const receiver = await startReceiver();
  await sender.send(eventOf('one'), { ...settings, secret: undefined, url: receiver.url }, Date.now());
  expect(receiver.received[0]?.headers).not.toHaveProperty('webhook-signature');
  expect(receiver.received[0]?.headers['webhook-id']).toMatch(/^msg_[0-9a-f]{32}$/);
});

describe('a receiver that', () => {
  it.each([
    ['hangs', hang, 'timeout'],
    ['resets the connection', reset, 'ECONNRESET|the connection was closed before the answer was complete'],
    ['answers 500', 500, '500'],
    ['answers 404', 404, '404'],
  ])('%s has not accepted the event', async (_what, behaviour, expected) => {
    // The others get the usual time, because the machine may be busy.
    const limit = expected === 'timeout' ? [300] : [];
    const receiver = await startReceiver();
    receiver.next.push(behaviour);
    const answer = await sender.send(eventOf('one'), { ...settings, url: receiver.url }, Date.now(), ...limit);
    expect(answer.isAccepted).toBe(false);
    expect(answer.result).toMatch(new RegExp(`^(?:${expected})$`));
  });

  it('redirects gets no second request, and neither does the other host', async () => {
    const [receiver, other] = [await startReceiver(), await startReceiver()];
    receiver.next.push(redirectTo(other.url));
    expect(await sender.send(eventOf('one'), { ...settings, url: receiver.url }, Date.now())).toMatchObject({
      isAccepted: false,
      result: '307',
    });
    expect([receiver.received.length, other.received.length]).toEqual([1, 0]);
  });

  it('sends a body without end does not keep the gateway busy', async () => {
    const receiver = await startReceiver();
    receiver.next.push(endless);
    expect(await sender.send(eventOf('one'), { ...settings, url: receiver.url }, Date.now())).toMatchObject({
      result: '200',
    });
  });

  it('refuses connections has not accepted the event', async () => {
    const url = `${await refusedUrl()}/secret-path`;
    expect(await sender.send(eventOf('one'), { ...settings, url }, Date.now())).toMatchObject({
      result: 'ECONNREFUSED',
    });
  });

  it('has a certificate of nobody known gets nothing', async () => {
    const receiver = await startReceiver(makePair(temporaryFolder(), 'localhost'));
    const answer = await sender.send(eventOf('one'), { ...settings, url: receiver.url }, Date.now());
    expect(answer).toMatchObject({ isAccepted: false, result: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    expect(receiver.received).toEqual([]);
  });
});

describe('the proxy of the environment', () => {
  it('gets webhooks with https: by CONNECT, and sees nothing of them', async () => {
    const authority = makeAuthority(temporaryFolder(), 'test-ca');
    const defaults = getCACertificates('default');
    setDefaultCACertificates([...defaults, authority.cert]);
    onTestFinished(() => setDefaultCACertificates(defaults));
    const { cert, key } = authority.issue('hook.example');
    const receiver = await startReceiver({ cert: Buffer.from(cert), key: Buffer.from(key) });
    const proxy = await startForwardProxy({ 'hook.example': Number(new URL(receiver.url).port) });
    vi.stubEnv('HTTPS_PROXY', proxy.url);
    const answer = await freshSender().send(
      eventOf('one'),
      { ...settings, url: 'https://hook.example/secret' },
      Date.now(),
    );
    expect(answer).toMatchObject({ isAccepted: true, result: '204' });
    expect(proxy.requested).toEqual(['CONNECT hook.example:443']);
    expect(receiver.received.map(({ path }) => path)).toEqual(['/secret']);
  });

  it('gets webhooks with http:, but not those of NO_PROXY', async () => {
    const receiver = await startReceiver();
    const proxy = await startForwardProxy({ 'hook.example': Number(new URL(receiver.url).port) });
    vi.stubEnv('HTTP_PROXY', proxy.url);
    vi.stubEnv('NO_PROXY', '127.0.0.1,.internal.example');
    const proxied = freshSender();
    for (const url of ['http://hook.example/a', receiver.url])
      expect(await proxied.send(eventOf('one'), { ...settings, url }, Date.now())).toMatchObject({ result: '204' });
    expect(proxy.requested).toEqual(['POST http://hook.example/a']);
    expect(receiver.received).toHaveLength(2);
  });
});

it('sends nothing to a private address with networks: public', async () => {
  const receiver = await startReceiver();
  const address = /^the address (?:127\.0\.0\.1|::1) is not public; networks: any would allow it$/;
  for (const url of [receiver.url, receiver.url.replace('127.0.0.1', 'localhost')]) {
    const answer = await sender.send(eventOf('one'), { ...settings, networks: 'public', url }, Date.now());
    expect(answer).toEqual({ isAccepted: false, result: expect.stringMatching(address), retryAfter: undefined });
  }
  // The connection that another webhook may use is no way around it.
  expect(await sender.send(eventOf('one'), { ...settings, url: receiver.url }, Date.now())).toMatchObject({
    result: '204',
  });
  const again = await sender.send(eventOf('one'), { ...settings, networks: 'public', url: receiver.url }, Date.now());
  expect([again.isAccepted, receiver.received.length]).toEqual([false, 1]);
});

it('ends at once what is being sent when it is closed', async () => {
  const receiver = await startReceiver();
  receiver.next.push(hang);
  const closed = freshSender();
  const answer = closed.send(eventOf('one'), { ...settings, url: receiver.url }, Date.now());
  await eventually(() => expect(receiver.received).toHaveLength(1));
  await closed.close();
  expect(await answer).toMatchObject({ isAccepted: false, result: 'stopped' });
});

/** Reads the environment of its test. */
function freshSender(): WebhookSender {
  const fresh = new WebhookSender();
  onTestFinished(() => fresh.close());
  return fresh;
}

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
