import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { rootBase } from '../../../gateway/config/api.ts';
import { ClientIdentification } from '../../../gateway/usage/counting/identification.ts';
import { type OwnUsageAnswer, SelfService } from '../../../gateway/versions/selfService/selfService.ts';

const minute = 60_000;
const identification = new ClientIdentification([{ by: 'header', name: 'x-api-key' }], 'salt');

function requestFrom(address: string, key: string, now = minute) {
  return { method: 'GET', rawHeaders: ['X-Api-Key', key], address, identification, base: rootBase, now };
}

function serviceWith(answer: () => Promise<OwnUsageAnswer>, timeoutMs?: number) {
  const asked: string[] = [];
  const service = new SelfService(({ client }) => {
    asked.push(client);
    return answer();
  }, timeoutMs);
  return { service, asked };
}

it('asks for few of many forged keys, and answers other networks and the next minute', async () => {
  const { service, asked } = serviceWith(async () => ({ kind: 'unknown' }));
  const codes = new Map<unknown, number>();
  for (let n = 0; n < 100_000; n += 1) {
    const answer = await service.answer(requestFrom(`192.0.2.${n % 256}`, `forged-${n}`));
    const code = typeof answer === 'string' ? '' : answer.code;
    codes.set(code, (codes.get(code) ?? 0) + 1);
  }
  expect([...codes]).toEqual([
    ['CLIENT_NOT_ACCEPTED', 10],
    ['TOO_MANY_QUESTIONS', 99_990],
  ]);
  expect(await service.answer(requestFrom('198.51.100.1', 'k'))).toMatchObject({ code: 'CLIENT_NOT_ACCEPTED' });
  expect(await service.answer(requestFrom('192.0.2.1', 'k', 2 * minute))).toMatchObject({
    code: 'CLIENT_NOT_ACCEPTED',
  });
  expect(asked).toHaveLength(12);
});

it('limits the requests of all networks together', async () => {
  const { service, asked } = serviceWith(async () => ({ kind: 'known', body: '{}' }));
  for (let n = 0; n < 200; n += 1) await service.answer(requestFrom(`10.0.${n}.1`, 'k'));
  expect(asked).toHaveLength(120);
});

it('answers 503 if the ledger is too slow, and asks no more while it is', async () => {
  const { promise, resolve } = Promise.withResolvers<OwnUsageAnswer>();
  const { service, asked } = serviceWith(() => promise, 1);
  const all = Array.from({ length: 20 }, (_one, n) => service.answer(requestFrom(`10.0.${n}.1`, 'k')));
  for (const answer of await Promise.all(all))
    expect(answer).toMatchObject({ code: 'LEDGER_UNANSWERED', fields: ['Retry-After', '30'] });
  expect(asked).toHaveLength(8);
  resolve({ kind: 'known', body: '{}' });
  // The end of the questions is noted in the next turn.
  await setImmediate();
  expect(await service.answer(requestFrom('10.1.0.1', 'k'))).toBe('{}');
});

it('answers 503 if the ledger cannot be read', async () => {
  for (const answer of [async () => ({ kind: 'failed' }) as const, () => Promise.reject(new Error('no thread'))]) {
    const { service } = serviceWith(answer);
    expect(await service.answer(requestFrom('10.0.0.1', 'k'))).toMatchObject({ code: 'LEDGER_UNANSWERED' });
  }
});
