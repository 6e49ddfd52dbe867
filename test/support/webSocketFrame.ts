export interface FrameShape {
  readonly masked?: boolean;
  readonly final?: boolean;
  readonly fill?: number;
}

/** A WebSocket frame (RFC 6455 §5.2) with `length` bytes of payload. Its masking key 0 does not change the payload. */
export function frame(
  opcode: number,
  length: number,
  { masked = false, final = true, fill = 97 }: FrameShape = {},
): Buffer {
  const first = (final ? 0x80 : 0) | opcode;
  const mask = masked ? 0x80 : 0;
  let head = Buffer.of(first, mask | length);
  if (length > 125 && length < 65_536) {
    head = Buffer.alloc(4);
    head.writeUInt16BE(length, 2);
    head[1] = mask | 126;
  } else if (length >= 65_536) {
    head = Buffer.alloc(10);
    head.writeBigUInt64BE(BigInt(length), 2);
    head[1] = mask | 127;
  }
  head[0] = first;
  return Buffer.concat([head, Buffer.alloc(masked ? 4 : 0), Buffer.alloc(length, fill)]);
}
