import type { Socket } from 'node:net';
import { FrameFollower, goingAwayFrame } from './webSocketFrames.ts';

/** One way through a tunnel. */
export class TunnelDirection {
  /** Nothing more goes this way: whatever still comes is thrown away. */
  over = false;
  readonly #to: Socket;
  readonly #masked: boolean;
  readonly #frames: FrameFollower | undefined;
  #ending = false;

  /** `masked`: it leads to the server of the WebSocket. */
  constructor(to: Socket, isWebSocket: boolean, masked: boolean) {
    this.#to = to;
    this.#masked = masked;
    this.#frames = isWebSocket ? new FrameFollower() : undefined;
  }

  /** False when the other end does not keep up. */
  pass(chunk: Buffer): boolean {
    if (this.over) return true;
    const end = this.#frames?.follow(chunk, this.#ending) ?? chunk.length;
    const flowing = this.#to.write(end === chunk.length ? chunk : chunk.subarray(0, end));
    if (this.#ending) this.#endBetweenFrames();
    return flowing || this.over;
  }

  /** Ends as soon as that breaks nothing; says of a WebSocket that it is 1001. */
  goAway(): void {
    if (this.over) return;
    this.#ending = true;
    this.#endBetweenFrames();
  }

  /** There is nothing more to come. What has been passed still arrives. */
  end(): void {
    this.over = true;
    this.#to.end();
  }

  #endBetweenFrames(): void {
    if (this.#frames?.between === false) return;
    // Behind a Close no other frame may come (RFC 6455 §5.5.1).
    if (this.#frames?.closing === false && this.#to.writable) this.#to.write(goingAwayFrame(this.#masked));
    this.end();
  }
}
