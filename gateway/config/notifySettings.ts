/** The events that `notify` sends. docs/notifications.md describes them. */
export const notifyEvents = [
  'deprecation',
  'sunset-90d',
  'sunset-30d',
  'sunset-7d',
  'brownout',
  'new-client',
  'came-back',
  'ledger-problem',
  'lost-requests',
] as const;

/** A webhook. The path and query of its URL and its signing key are secrets. */
export interface NotifyReceiver {
  readonly url: string;
  readonly format: 'json' | 'slack';
  /** The signing key as base64; undefined: requests are not signed. */
  readonly secret: string | undefined;
  readonly events: readonly (typeof notifyEvents)[number][];
  readonly digest: 'off' | 'weekly';
  /** `public`: nothing is sent to a loopback, link-local, private or reserved address. */
  readonly networks: 'any' | 'public';
}
