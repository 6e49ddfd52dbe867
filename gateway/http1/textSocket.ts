import { Socket } from 'node:net';
import type { WritableOptions } from 'node:stream';

type OnWritten = Parameters<NonNullable<WritableOptions['write']>>[2];

/**
 * A socket that passes text to the kernel without the queue of node:stream, which saves CPU time. A text that the kernel does not
 * accept at once is in the queue until it is accepted, like any other: it counts in `writableLength`, and `end` waits for it.
 */
export class TextSocket extends Socket {
  /**
   * Undocumented in Node. Writes to the handle, and calls `onWritten` before it returns if the kernel has accepted all of the
   * text.
   */
  declare readonly _writeGeneric?: (isList: false, text: string, encoding: 'latin1', onWritten: OnWritten) => void;
  /** The handle has a text that the kernel has not accepted as a whole. The next `_write` is for this text. */
  #isDispatched = false;
  #onStreamWritten: OnWritten | undefined;

  /** `text`: latin1. Errors are emitted, as after `write`. */
  writeText(text: string): void {
    const { _writeGeneric: writeToHandle } = this;
    if (writeToHandle && this.writableLength === 0 && this.writable && !this.connecting) {
      this.#isDispatched = true;
      writeToHandle.call(this, false, text, 'latin1', this.#onWritten);
      if (!this.#isDispatched) return;
    }
    // If the handle has the text already, `_write` sends nothing, and waits for the handle.
    this.write(text, 'latin1');
    // If `_write` was not called, the stream has queued the text, and would send it a second time. A stream queues text only while
    // another write is in progress, or while it is corked.
    if (this.#isDispatched) this.destroy();
  }

  override _write(chunk: unknown, encoding: BufferEncoding, onWritten: OnWritten): void {
    if (!this.#isDispatched) super._write(chunk, encoding, onWritten);
    else {
      this.#isDispatched = false;
      this.#onStreamWritten = onWritten;
    }
  }

  readonly #onWritten: OnWritten = (error) => {
    const onStreamWritten = this.#onStreamWritten;
    this.#onStreamWritten = undefined;
    this.#isDispatched = false;
    if (onStreamWritten) onStreamWritten(error);
    else if (error) this.destroy(error);
  };
}

/** Writes latin1 text to any socket. */
export function writeText(socket: Socket, text: string): void {
  if (socket instanceof TextSocket) socket.writeText(text);
  else socket.write(text, 'latin1');
}
