import type { Snapshot } from './snapshot.ts';

/**
 * The settings by which the gateway itself answers requests of all clients, whatever the backends do. The ledger keeps those under
 * which it counts, so that an edit can be compared with them while no gateway runs. Sizes in bytes.
 */
export interface AnswerSettings {
  readonly basePath: string;
  /** The longest request target. */
  readonly url: number;
  /** The largest head. */
  readonly head: number;
  /** Version → its largest body. */
  readonly bodies: Readonly<Record<string, number>>;
}

export function answerSettingsOf({
  gateway: { basePath, limits },
  sortedVersions,
}: Pick<Snapshot, 'gateway' | 'sortedVersions'>): AnswerSettings {
  const bodies = Object.fromEntries(sortedVersions.map(({ name, limits: { body } }) => [name, body]));
  return { basePath, url: limits.url, head: limits.head, bodies };
}

/** The settings from the text that a ledger keeps; undefined: it has none, or not in this form. */
export function answerSettingsFrom(text: string): AnswerSettings | undefined {
  try {
    const { basePath, url, head, bodies } = JSON.parse(text) as Partial<Record<keyof AnswerSettings, unknown>>;
    if (typeof basePath !== 'string' || typeof url !== 'number' || typeof head !== 'number') return undefined;
    if (typeof bodies !== 'object' || bodies === null) return undefined;
    const sizes = Object.entries(bodies).filter((entry): entry is [string, number] => typeof entry[1] === 'number');
    return { basePath, url, head, bodies: Object.fromEntries(sizes) };
  } catch {
    return undefined;
  }
}
