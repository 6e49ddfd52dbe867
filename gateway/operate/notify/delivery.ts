import { createHash, createHmac } from 'node:crypto';
import type { ApiReceiver } from '../../config/api.ts';
import type { NotifyReceiver } from '../../config/notifySettings.ts';
import { type HttpAnswer, HttpClient, HttpFailure, httpUses } from '../../shared/httpClient.ts';
import { packageVersion } from '../../shared/packageFiles.ts';
import type { NotifyEvent } from './events.ts';
import { asSlack, eventAsJson } from './formats.ts';

/** A receiver may take this long to answer. */
export const answerMs = 10_000;

const hourMs = 3_600_000;
/** The pauses after failed attempts; the last one is repeated. */
const pausesMs = [5_000, 30_000, 120_000, 600_000, 1_800_000, hourMs];
/** The longest possible pause: the last one with the largest jitter. */
export const longestPauseMs = 1.2 * hourMs;
/** An event that is still not accepted after this time is given up. */
export const giveUpMs = 24 * hourMs;

/**
 * The key of a receiver in the queue. It reveals neither the path nor the query of the URL. Two APIs may send to one URL, and each has
 * its own events and limits, so the key contains the API.
 */
export function receiverKeyOf({ url, format, api }: Pick<ApiReceiver, 'url' | 'format' | 'api'>): string {
  return createHash('sha256')
    .update(api === undefined ? `${format} ${url}` : `${format} ${url} ${api}`)
    .digest('hex')
    .slice(0, 16);
}

/** The part of the URL that may be shown. */
export function hostOf({ url }: Pick<NotifyReceiver, 'url'>): string {
  return new URL(url).host;
}

/** The value of `webhook-id`: the same in every attempt, and on every gateway. Standard Webhooks allows no `.` in it. */
export function messageId(event: Pick<NotifyEvent, 'id'>): string {
  return `msg_${createHash('sha256').update(event.id).digest('hex').slice(0, 32)}`;
}

/** The fields of Standard Webhooks. `secret`: base64. `now`: epoch ms. */
export function signatureFields(id: string, body: string, secret: string, now: number): Record<string, string> {
  const timestamp = String(Math.floor(now / 1_000));
  const hmac = createHmac('sha256', Buffer.from(secret, 'base64')).update(`${id}.${timestamp}.${body}`);
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${hmac.digest('base64')}` };
}

/** What the receiver answered to one attempt, or why there is no answer. */
export interface ReceiverAnswer {
  readonly isAccepted: boolean;
  /** The status, or why there is none. It contains no part of the URL except the address of its host. */
  readonly result: string;
  /** From `Retry-After`, in ms; undefined: the receiver did not send it. */
  readonly retryAfter: number | undefined;
}

/** Sends events to webhooks. Those that must be public have connections of their own. */
export class WebhookSender {
  readonly #clients = {
    any: new HttpClient({ ...httpUses.webhooks, networks: 'any' }),
    public: new HttpClient({ ...httpUses.webhooks, networks: 'public' }),
  };

  /** Sends an event once. Never throws. `now`: epoch ms. */
  async send(
    event: NotifyEvent,
    receiver: NotifyReceiver,
    now: number,
    deadlineMs = answerMs,
  ): Promise<ReceiverAnswer> {
    const body = receiver.format === 'slack' ? asSlack(event) : eventAsJson(event);
    const id = messageId(event);
    const unsignedFields = { 'webhook-id': id, 'webhook-timestamp': String(Math.floor(now / 1_000)) };
    const headers = {
      'content-type': 'application/json',
      'user-agent': `version-gateway/${packageVersion()}`,
      ...(receiver.secret === undefined ? unsignedFields : signatureFields(id, body, receiver.secret, now)),
    };
    try {
      // Redirects are not followed: one could send client names to another host. The certificate is verified by default.
      const request = { method: 'POST', headers, body, deadlineMs } as const;
      const answer = await this.#clients[receiver.networks].request(receiver.url, request);
      await answer.discard();
      return { isAccepted: answer.isOk, result: String(answer.status), retryAfter: retryAfterOf(answer) };
    } catch (error) {
      return { isAccepted: false, result: resultFor(error), retryAfter: undefined };
    }
  }

  /** Ends requests without an answer. */
  async close(): Promise<void> {
    await Promise.all([this.#clients.any.close(), this.#clients.public.close()]);
  }
}

function resultFor(error: unknown): string {
  if (!(error instanceof HttpFailure)) return 'failed';
  if (error.kind === 'timeout') return 'timeout';
  return error.kind === 'refused' ? `${error.message}; networks: any would allow it` : error.message;
}

/** Only seconds are read. A receiver may also send a date, which is ignored. */
function retryAfterOf(answer: HttpAnswer): number | undefined {
  const value = answer.header('retry-after') ?? '';
  return /^\d{1,6}$/.test(value) ? Number(value) * 1_000 : undefined;
}

/**
 * The pause after a failed attempt, ms, with jitter, so that several gateways do not try again at the same time. The jitter only makes
 * the pause longer, because `Retry-After` is a minimum. Undefined: the event is given up.
 * `attempt`: from 1. `age`: of the event, ms.
 */
export function pauseAfter(
  attempt: number,
  age: number,
  { retryAfter = 0 }: Partial<ReceiverAnswer> = {},
): number | undefined {
  const regularPause = pausesMs[Math.min(attempt, pausesMs.length) - 1] ?? hourMs;
  const pause = Math.round(Math.max(Math.min(retryAfter, hourMs), regularPause) * (1 + Math.random() / 5));
  return age + pause > giveUpMs ? undefined : pause;
}
