import { openSync, readSync } from 'node:fs';

// Loaded with --import: the clock of the process, of its threads and of its workers differs by CLOCK_OFFSET_MS, or by the number in the
// file CLOCK_OFFSET_FILE, which a test may change at any time.
const file = process.env.CLOCK_OFFSET_FILE;
const descriptor = file === undefined ? undefined : openSync(file, 'r');
const content = Buffer.alloc(32);
const fixedOffset = Number(process.env.CLOCK_OFFSET_MS ?? 0);

function offset() {
  if (descriptor === undefined) return fixedOffset;
  return Number(content.toString('latin1', 0, readSync(descriptor, content, 0, content.length, 0)));
}

const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + offset());
    else super(...args);
  }
  static now() {
    return RealDate.now() + offset();
  }
};
