import { expect, it, onTestFinished } from 'vitest';
import { copyIfShared, ReadBuffer } from '../../gateway/http1/readBuffer.ts';

const shared = new ReadBuffer().next();
const full = shared.length;

/** A socket that has just read a part of a large body. */
function inLargeBody(): ReadBuffer {
  const buffer = new ReadBuffer();
  buffer.chooseNextBuffer(full, true, false);
  buffer.next();
  onTestFinished(() => buffer.release());
  return buffer;
}

it('is shared by all sockets, except within large bodies', () => {
  const idle = new ReadBuffer();
  idle.chooseNextBuffer(full, false, false);
  expect(idle.next()).toBe(shared);
  const slow = new ReadBuffer();
  slow.chooseNextBuffer(1_000, true, false);
  expect(slow.next()).toBe(shared);
  const [one, other] = [inLargeBody().next(), inLargeBody().next()];
  expect(new Set([shared, one, other]).size).toBe(3);
});

it('has its bytes copied only if it is shared', () => {
  const own = inLargeBody().next();
  const [copied, passed] = [copyIfShared(shared, 2, 4), copyIfShared(own, 2, 4)];
  for (const buffer of [shared, own]) buffer.write('after', 2);
  expect([copied.length, copied.equals(shared.subarray(2, 4))]).toEqual([2, false]);
  expect(passed.toString()).toBe('af');
});

it('stays with its socket while the bytes are not sent, however few', () => {
  const buffer = inLargeBody();
  const own = buffer.next();
  buffer.chooseNextBuffer(1, true, true);
  expect(buffer.next()).toBe(own);
  buffer.chooseNextBuffer(1, true, false);
  expect(buffer.next()).toBe(shared);
});

it('is used again after a body, but never if its bytes are not sent', () => {
  const [sent, unsent] = [inLargeBody(), inLargeBody()];
  const [first, second] = [sent.next(), unsent.next()];
  sent.chooseNextBuffer(full, false, false);
  unsent.chooseNextBuffer(full, false, true);
  expect([sent.next(), unsent.next()]).toEqual([shared, shared]);
  const later = Array.from({ length: 100 }, () => inLargeBody().next());
  expect(later).toContain(first);
  expect(later).not.toContain(second);
});

it('is the shared one if 512 sockets have their own', () => {
  const buffers = Array.from({ length: 600 }, inLargeBody);
  const own = buffers.filter((buffer) => buffer.next() !== shared);
  expect(own).toHaveLength(512);
  own[0]?.release();
  expect(inLargeBody().next()).not.toBe(shared);
  expect(inLargeBody().next()).toBe(shared);
});
