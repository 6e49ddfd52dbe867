import { describe, expect, it } from 'vitest';
import { FrameFollower, goingAwayFrame } from '../../../gateway/proxy/forwarding/webSocketFrames.ts';
import { frame } from '../../support/webSocketFrame.ts';

const shapes = [
  ['no payload', frame(1, 0)],
  ['no payload, masked', frame(1, 0, { masked: true })],
  ['the longest short one', frame(2, 125)],
  ['the shortest of 16 bits', frame(2, 126)],
  ['of 16 bits, masked', frame(2, 126, { masked: true })],
  ['the longest of 16 bits', frame(2, 65_535)],
  ['the shortest of 64 bits', frame(2, 65_536)],
  ['of 64 bits, masked', frame(2, 65_536, { masked: true })],
  ['a first fragment', frame(1, 5, { final: false })],
  ['a ping', frame(9, 4)],
] as const;

describe.each(shapes)('a frame: %s', (_name, bytes) => {
  it('ends with its last byte', () => {
    const frames = new FrameFollower();
    expect(frames.follow(bytes.subarray(0, -1), false)).toBe(bytes.length - 1);
    expect(frames.isAtBoundary).toBe(false);
    expect(frames.follow(Buffer.concat([bytes.subarray(-1), bytes]), true)).toBe(1);
    expect([frames.isAtBoundary, frames.hasSeenClose]).toEqual([true, false]);
  });

  it('may arrive byte by byte', () => {
    const frames = new FrameFollower();
    const between = [...bytes].map((byte) => {
      frames.follow(Buffer.of(byte), false);
      return frames.isAtBoundary;
    });
    expect(between.indexOf(true)).toBe(bytes.length - 1);
  });

  it('is found in a chunk of several frames, split at any byte', () => {
    const all = Buffer.concat([bytes, frame(1, 3), bytes, frame(10, 0)]);
    for (const cut of [1, 2, 3, 5, 9, 11, bytes.length, bytes.length + 1, all.length - 1]) {
      const frames = new FrameFollower();
      expect(frames.follow(all.subarray(0, cut), false)).toBe(Math.min(cut, all.length));
      frames.follow(all.subarray(cut), false);
      expect(frames.isAtBoundary).toBe(true);
    }
  });
});

it('no frame is in progress between two frames', () => {
  expect(new FrameFollower().follow(frame(1, 3), true)).toBe(0);
});

it('a frame of more than 2^53 bytes never ends', () => {
  const frames = new FrameFollower();
  frames.follow(Buffer.from('827fffffffffffffffff', 'hex'), false);
  expect(frames.follow(Buffer.alloc(1000), true)).toBe(1000);
  expect(frames.isAtBoundary).toBe(false);
});

it.each([
  ['a Close', frame(8, 2), true],
  ['a masked Close', frame(8, 0, { masked: true }), true],
  ['the first byte of a Close', Buffer.of(0x88), true],
  ['a ping', frame(9, 8), false],
  ['a text of bytes that look like a Close', frame(1, 200, { fill: 0x88 }), false],
])('%s: is recognised as a Close or not', (_name, bytes, closing) => {
  const frames = new FrameFollower();
  frames.follow(bytes, false);
  expect(frames.hasSeenClose).toBe(closing);
});

describe('the Close', () => {
  it('to a client has status 1001, unmasked', () => {
    expect(goingAwayFrame(false)).toEqual(Buffer.from('\x88\x0c\x03\xe9going away', 'latin1'));
  });

  it('to a server is masked', () => {
    const [first, second, ...rest] = goingAwayFrame(true);
    const key = rest.slice(0, 4);
    const payload = Buffer.from(rest.slice(4).map((byte, at) => byte ^ (key[at % 4] as number)));
    expect([first, second]).toEqual([0x88, 0x8c]);
    expect(payload).toEqual(Buffer.from('\x03\xe9going away', 'latin1'));
  });

  it('has another mask each time', () => {
    expect(goingAwayFrame(true)).not.toEqual(goingAwayFrame(true));
  });
});
