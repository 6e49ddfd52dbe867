/** How responses of a version are compared with its own contract. Sizes in bytes. */
export interface DriftSettings {
  /** The share of GET and HEAD requests whose responses are compared, 0 to 1. */
  readonly sample: number;
  /** Compared responses per second, in each process that serves clients. */
  readonly rate: number;
  /** The largest response body that is compared, before and after it is decoded. */
  readonly body: number;
  /** Nothing is compared at or after this instant, epoch ms. */
  readonly until: number;
}

/** How requests of a version are copied to another version, to compare the responses. Durations in ms, sizes in bytes. */
export interface ShadowSettings {
  /** The version that gets the copies, as a segment: `v2`. */
  readonly to: string;
  /** The share of requests that are copied, 0 to 1. */
  readonly sample: number;
  /** Copies per second, those for `control` included. */
  readonly rate: number;
  /** The maximum of copies that have no complete response yet. */
  readonly inFlight: number;
  /** The longest time until a response to a copy is complete. */
  readonly timeout: number;
  /** The largest response body that is compared, before and after it is decoded. */
  readonly body: number;
  /** The share of copied requests that are also sent to the version itself again, 0 to 1. */
  readonly control: number;
  /** `drop`: copies carry nothing that identifies the client. */
  readonly credentials: 'drop' | 'pass';
  /** The routes whose requests are never copied. A GET includes HEAD. */
  readonly deny: readonly { readonly method: string; readonly path: string }[];
  /** Whether values of requests are kept in memory, so that they can be exported. */
  readonly values: boolean;
  /** Nothing is sent at or after this instant, epoch ms. */
  readonly until: number;
}
