import type { Connection } from '../http1/connection.ts';

/** The connections to one target, at whichever of its addresses. */
export interface Connections {
  /** How long an idle connection is kept, in ms; 0 for ever. */
  keepAlive: number;
  readonly size: number;
  /** An idle connection, or a new one, which may take `timeout` ms to stand. */
  acquire(timeout: number): Connection;
  connect(timeout: number): Connection;
  /** Idle connections go now, the others when their exchange ends. */
  close(): void;
}
