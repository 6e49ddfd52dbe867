import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export const types = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const endStream = 1;
export const ack = 1;
export const endHeaders = 4;
export const padded = 8;

/** Error codes of RFC 9113 §7. */
export const codes = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
] as const;

/** A frame (RFC 9113 §4.1). `length`: the declared length, if it differs from that of the payload. */
export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer | string = '',
  length?: number,
): Buffer {
  const bytes = typeof payload === 'string' ? Buffer.from(payload, 'latin1') : payload;
  const head = Buffer.alloc(9);
  head.writeUIntBE(length ?? bytes.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, bytes]);
}

export type Lines = readonly (readonly [name: string, value: string])[];

/** A field block of literals without indexing (RFC 7541 §6.2.2), without Huffman coding. */
export function block(lines: Lines): Buffer {
  return Buffer.concat(lines.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

function text(value: string): Buffer {
  return Buffer.concat([integer(value.length), Buffer.from(value, 'latin1')]);
}

/** An integer with a prefix of 7 bits (RFC 7541 §5.1). */
function integer(value: number): Buffer {
  if (value < 127) return Buffer.from([value]);
  const bytes = [127];
  let rest = value - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

/** The pseudo-header fields of `GET /v1/x`. `more` replaces some of them; undefined leaves one out. */
export function pseudo(more: Readonly<Record<string, string | undefined>> = {}): Lines {
  const all = { ':method': 'GET', ':scheme': 'http', ':path': '/v1/x', ':authority': 'api.test', ...more };
  return Object.entries(all).filter((line): line is [string, string] => line[1] !== undefined);
}

/** A whole request without a body. If `flags` lacks END_STREAM, the head of a request with a body. */
export function headers(stream: number, lines: Lines = pseudo(), flags: number = endHeaders | endStream): Buffer {
  return frame(types.headers, flags, stream, block(lines));
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function resetStream(stream: number, code = 8): Buffer {
  return frame(types.reset, 0, stream, uint32(code));
}

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** An HTTP/2 client that sends any bytes. It acknowledges nothing by itself. */
export class FrameClient {
  readonly socket: Socket;
  readonly frames: Frame[] = [];
  closed = false;
  #unread = Buffer.alloc(0);
  #wake: () => void = () => {};

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (data: Buffer) => {
      this.#unread = Buffer.concat([this.#unread, data]);
      this.#parse();
      this.#wake();
    });
    for (const event of ['end', 'error', 'close']) {
      socket.on(event, () => {
        this.closed = true;
        this.#wake();
      });
    }
  }

  send(...frames: Buffer[]): void {
    if (this.socket.writable) this.socket.write(Buffer.concat(frames));
  }

  /** Waits for the first frame that `matches`, and returns it. Undefined if the connection is closed before. */
  async next(matches: (frame: Frame) => boolean): Promise<Frame | undefined> {
    for (;;) {
      const found = this.frames.find(matches);
      if (found || this.closed) return found;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Waits until the connection is closed. Returns the error code of the last GOAWAY; undefined: there was none. */
  async closedWith(): Promise<string | undefined> {
    await this.next(() => false);
    const last = this.frames.findLast(({ type }) => type === types.goaway);
    return last && codes[last.payload.readUInt32BE(4)];
  }

  /** How the server ends a stream: `reset CODE`, the status of a complete response, `goaway CODE`, or `closed`. */
  async outcome(stream: number): Promise<string> {
    const ends = (one: Frame): boolean =>
      one.stream === stream && (one.type === types.reset || (one.type < 2 && (one.flags & endStream) !== 0));
    const last = await this.next(
      (one) => ends(one) || (one.type === types.goaway && one.payload.readUInt32BE(4) !== 0),
    );
    if (last?.type === types.reset) return `reset ${codes[last.payload.readUInt32BE()]}`;
    if (last?.type === types.goaway) return `goaway ${codes[last.payload.readUInt32BE(4)]}`;
    if (!last) return 'closed';
    const head = this.frames.find((one) => one.stream === stream && one.type === types.headers) as Frame;
    return String(statusIn(head.payload));
  }

  #parse(): void {
    while (this.#unread.length >= 9) {
      const length = this.#unread.readUIntBE(0, 3);
      if (this.#unread.length < 9 + length) return;
      const [type = 0, flags = 0] = [this.#unread[3], this.#unread[4]];
      const stream = this.#unread.readUInt32BE(5) & 0x7fff_ffff;
      this.frames.push({ type, flags, stream, payload: this.#unread.subarray(9, 9 + length) });
      this.#unread = this.#unread.subarray(9 + length);
    }
  }
}

/** The status at the start of a field block: an entry of the static table, or a literal with or without Huffman coding. */
function statusIn(payload: Buffer): number {
  const first = payload[0] as number;
  const indexed = [200, 204, 206, 304, 400, 404, 500][first - 0x88];
  if (indexed !== undefined) return indexed;
  const length = (payload[1] as number) & 0x7f;
  const value = payload.subarray(2, 2 + length);
  if (((payload[1] as number) & 0x80) === 0) return Number(value.toString('latin1'));
  const bits = [...value].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const digits: Record<string, string> = { '00000': '0', '00001': '1', '00010': '2' };
  for (let digit = 3; digit <= 9; digit += 1)
    digits[(0b011001 + digit - 3).toString(2).padStart(6, '0')] = String(digit);
  let status = '';
  for (let at = 0; status.length < 3; ) {
    const code = [5, 6].map((size) => bits.slice(at, at + size)).find((one) => digits[one] !== undefined) as string;
    status += digits[code];
    at += code.length;
  }
  return Number(status);
}

/** Opens an HTTP/2 connection without TLS, and sends the preface and SETTINGS. It is closed at the end of the test. */
export async function connectFrames(
  port: number,
  firstBytes: Buffer = Buffer.concat([preface, frame(types.settings, 0, 0)]),
): Promise<FrameClient> {
  const socket = connect({ port, host: '127.0.0.1' });
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, 'connect');
  const client = new FrameClient(socket.setNoDelay(true));
  client.send(firstBytes);
  return client;
}
