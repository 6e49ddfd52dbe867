/** What made the gateway look at its file. */
export type Trigger = 'start' | 'file' | 'signal' | 'admin';

/** How the active configuration came to be, and the last one that did not. Instants in epoch ms. */
export interface ConfigStatus {
  readonly fingerprint: string;
  /** From 1, one more with each reload that changed something. */
  readonly generation: number;
  readonly loadedAt: number;
  readonly trigger: Trigger;
  /** Reloads that were faulty or refused, since the start. */
  readonly failures?: number;
  /** The reasons of `guard.force` that let it pass. */
  readonly forced: readonly string[];
  readonly lastFailure:
    | { readonly at: number; readonly trigger: Trigger; readonly reasons: readonly string[] }
    | undefined;
}
