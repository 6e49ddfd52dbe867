import { apiOf } from '../../config/api.ts';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import { rfc3339 } from '../../shared/instant.ts';
import { messageOf, plural } from '../../shared/text.ts';
import type { LiveFacts } from '../../usage/evidence/callEvidence.ts';
import { clientsSparedByFreeze } from '../lifecycle/stage.ts';
import {
  type FreezeClients,
  type FreezeQuery,
  type FreezeStatus,
  freezeInWords,
  freezeKey,
  type KnownClients,
  knownClientsLimit,
  type NewClient,
  newClientInWords,
  newClientsInWords,
} from './knownClients.ts';

type FreezeSettings = NonNullable<Version['freeze']>;

// How often it is checked which freezes are due.
const tickMs = 1_000;
// How often the ledger is asked for new clients.
const newClientsIntervalMs = 30_000;
// A request from before the freeze may be counted up to this long after the freeze began. After this time, the known clients are
// read again.
const settledMs = 20_000;
// An inactive freeze is tried again, at growing intervals: the ledger may become readable.
const firstRetryMs = 10_000;
const longestRetryMs = 3_600_000;
// New clients may be forged keys, so the number of lines is bounded.
const linesPerReport = 20;

export interface FreezeWatchOptions {
  /** Epoch ms. */
  readonly now: () => number;
  /** Takes a line for the operator. */
  readonly notice: (line: string) => void;
  /** Waits until the ledger has the calls of a version, for a few seconds at most, and tells which of the last `periodMs` it may lack. */
  readonly askForCalls: (version: string, periodMs: number) => Promise<LiveFacts | undefined>;
  /** Reads the ledger in its thread. Undefined: there is no ledger. */
  readonly findClients: ((snapshot: Snapshot, query: FreezeQuery) => Promise<FreezeClients>) | undefined;
  /** Computed from the present `usage.identify` and salt, which determine the names of clients in the ledger. */
  readonly namingRulesId: (snapshot: Snapshot) => string;
  /** Sends the known clients to all processes that serve clients. */
  readonly restrict: (known: KnownClients) => Promise<void>;
}

interface WatchedFreeze {
  readonly version: string;
  readonly settings: FreezeSettings;
  state: FreezeStatus['state'];
  reason: string | undefined;
  /** As read last; undefined unless the freeze is active. */
  clients: Extract<FreezeClients, { kind: 'found' }> | undefined;
  /** The names of the new clients that were reported. */
  readonly reported: Set<string>;
  /** When the known clients were read last, epoch ms. */
  readAt: number;
  /** When the ledger is read next, epoch ms. */
  nextReadAt: number;
  /** The pause after the next attempt, if it fails. */
  retryPauseMs: number;
}

/**
 * Reads the known clients of each freeze from the ledger when the freeze begins. A freeze that has already begun is read at the
 * start of the gateway, and when a reload adds or changes it. Half a minute after a freeze began, its known clients are read again.
 * New clients are reported.
 */
export class FreezeWatch {
  readonly #options: FreezeWatchOptions;
  #snapshot: Snapshot;
  /** The freezes of the snapshot, by the settings that decide which clients are known. If these change, the freeze is read again. */
  #watched = new Map<string, WatchedFreeze>();
  #timer: NodeJS.Timeout | undefined;
  #isBusy = false;
  #isClosed = false;

  constructor(snapshot: Snapshot, options: FreezeWatchOptions) {
    this.#options = options;
    this.#snapshot = snapshot;
  }

  /** Applies the freezes of a start or a reload. */
  async apply(snapshot: Snapshot): Promise<void> {
    this.#snapshot = snapshot;
    const watchedBefore = this.#watched;
    this.#watched = new Map(
      snapshot.sortedVersions.flatMap(({ name, freeze }): [string, WatchedFreeze][] => {
        if (freeze === undefined) return [];
        const key = JSON.stringify([name, freeze, apiOf(name, snapshot).retire.quiet, snapshot.usage.identify]);
        const kept = watchedBefore.get(key);
        // The reload may have removed the reason.
        if (kept?.state === 'inactive') kept.nextReadAt = 0;
        return [[key, kept ?? newWatched(name, freeze)]];
      }),
    );
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#watched.size > 0 && !this.#isClosed)
      this.#timer = setInterval(() => void this.readDueFreezes(), tickMs).unref();
    if (this.#watched.size + watchedBefore.size > 0) await this.#sendKnownClients();
    await this.readDueFreezes();
  }

  /** Reads all known clients again: the salt of the tags has changed. */
  async readAgain(): Promise<void> {
    for (const [key, { version, settings }] of this.#watched) this.#watched.set(key, newWatched(version, settings));
    if (this.#watched.size > 0) await this.readDueFreezes();
  }

  status(): readonly FreezeStatus[] {
    return [...this.#watched.values()].map(statusOf);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }

  /** Reads the ledger for each freeze that is due. Never rejects. */
  async readDueFreezes(): Promise<void> {
    if (this.#isBusy || this.#isClosed) return;
    this.#isBusy = true;
    try {
      for (const freeze of [...this.#watched.values()]) {
        const now = this.#options.now();
        if (now < freeze.settings.from) await this.#awaitBegin(freeze);
        else if (now < freeze.nextReadAt) continue;
        else if (freeze.state === 'active' && freeze.readAt >= freeze.settings.from + settledMs)
          await this.#findNewClients(freeze);
        else await this.#readClients(freeze);
      }
    } finally {
      this.#isBusy = false;
    }
  }

  /**
   * Resets a freeze that has not begun. If it was active, the clock was set back. Its known clients are then read again when it
   * begins, because clients that call until then are known, too.
   */
  async #awaitBegin(freeze: WatchedFreeze): Promise<void> {
    const wasActive = freeze.state === 'active';
    Object.assign(freeze, newWatched(freeze.version, freeze.settings));
    if (wasActive) await this.#sendKnownClients();
  }

  async #readClients(freeze: WatchedFreeze): Promise<void> {
    if (freeze.state === 'scheduled') freeze.state = 'reading';
    const found = await this.#findClients(freeze);
    if (!this.#isWatched(freeze)) return;
    const now = this.#options.now();
    const wasActive = freeze.state === 'active';
    if (found.kind === 'unknown' && wasActive) {
      freeze.nextReadAt = now + newClientsIntervalMs;
      return;
    }
    if (found.kind === 'unknown') {
      const isNewReason = freeze.reason !== found.reason;
      Object.assign(freeze, { state: 'inactive', reason: found.reason, nextReadAt: now + freeze.retryPauseMs });
      freeze.retryPauseMs = Math.min(longestRetryMs, 2 * freeze.retryPauseMs);
      if (isNewReason) this.#options.notice(freezeInWords(statusOf(freeze)));
      return;
    }
    // `clientLines` has the names of the known clients. A freeze that only reports does not need them.
    const clients = freeze.settings.mode === 'refuse' ? found : { ...found, clientLines: '' };
    // The second read can only add known clients, so an equal count means the same clients.
    const isSameCount = freeze.clients?.count === found.count;
    Object.assign(freeze, {
      state: 'active',
      reason: undefined,
      clients,
      readAt: now,
      nextReadAt: now + newClientsIntervalMs,
    });
    if (!isSameCount) {
      await this.#sendKnownClients();
      this.#options.notice(freezeInWords(statusOf(freeze)));
    }
    this.#reportNewClients(freeze, found.newClients, { isFirst: !wasActive });
  }

  async #findNewClients(freeze: WatchedFreeze): Promise<void> {
    freeze.nextReadAt = this.#options.now() + newClientsIntervalMs;
    const found = await this.#findClients(freeze, { onlyNewClients: true });
    if (found.kind === 'found' && this.#isWatched(freeze))
      this.#reportNewClients(freeze, found.newClients, { isFirst: false });
  }

  /** `isFirst`: one line for all new clients, because an earlier run of the gateway may have reported them already. */
  #reportNewClients(
    { version, settings, reported }: WatchedFreeze,
    newClients: readonly NewClient[],
    { isFirst }: { readonly isFirst: boolean },
  ): void {
    const unreported = newClients.filter(({ client }) => !reported.has(client));
    for (const { client } of unreported) reported.add(client);
    if (unreported.length === 0) return;
    const { notice } = this.#options;
    if (isFirst) {
      notice(`/${version} has, since its freeze, ${newClientsInWords(unreported)}`);
      return;
    }
    const action = settings.mode === 'refuse' ? 'refused by its freeze' : 'reported by its freeze, and served';
    for (const one of unreported.slice(0, linesPerReport))
      notice(`new client of /${version}, ${action}: ${newClientInWords(one)}, first call ${rfc3339(one.first)}`);
    const unlistedCount = unreported.length - linesPerReport;
    if (unlistedCount > 0) notice(`/${version} has ${plural(unlistedCount, 'more new client')} in the last seconds`);
  }

  async #findClients(
    { version, settings }: WatchedFreeze,
    { onlyNewClients } = { onlyNewClients: false },
  ): Promise<FreezeClients> {
    const { findClients, askForCalls, now } = this.#options;
    if (findClients === undefined) return { kind: 'unknown', reason: 'This gateway has no usage ledger.' };
    const { usage, versions } = this.#snapshot;
    const { quiet } = apiOf(version, this.#snapshot).retire;
    const configured = versions.get(version);
    const allow = configured ? clientsSparedByFreeze(configured, this.#options.now()) : settings.allow;
    const namingRulesId = this.#options.namingRulesId(this.#snapshot);
    const rules = { version, ...settings, allow, namingRulesId, quiet, limit: knownClientsLimit(usage) };
    const periodMs = now() - settings.from + quiet;
    try {
      // New clients that are missing now are found the next time.
      const live = onlyNewClients ? undefined : await askForCalls(version, periodMs);
      return await findClients(this.#snapshot, { ...rules, onlyNewClients, now: now(), live });
    } catch (error) {
      return { kind: 'unknown', reason: messageOf(error) };
    }
  }

  /** Sends the known clients of all freezes that refuse. Leaves out names from another `usage.identify` or salt. */
  async #sendKnownClients(): Promise<void> {
    const refusing = [...this.#watched.values()].filter(({ settings }) => settings.mode === 'refuse');
    const namingRulesId = refusing.findLast(({ clients }) => clients)?.clients?.namingRulesId ?? '';
    const clientLines = refusing.flatMap(({ version, settings, clients }): [string, string][] => {
      return clients?.namingRulesId === namingRulesId ? [[freezeKey(version, settings), clients.clientLines]] : [];
    });
    await this.#options.restrict({ namingRulesId, clientLinesByFreeze: new Map(clientLines) });
  }

  /** False if a reload has removed or changed the freeze meanwhile. */
  #isWatched(freeze: WatchedFreeze): boolean {
    return !this.#isClosed && this.#watched.values().some((other) => other === freeze);
  }
}

function statusOf({
  version,
  settings: { from, mode },
  state,
  reason,
  clients,
  reported,
}: WatchedFreeze): FreezeStatus {
  return { version, from, mode, state, reason, known: clients?.count, newClients: reported.size };
}

function newWatched(version: string, settings: FreezeSettings): WatchedFreeze {
  const unreadState = { state: 'scheduled', reason: undefined, clients: undefined, readAt: 0 } as const;
  return { version, settings, ...unreadState, reported: new Set(), nextReadAt: 0, retryPauseMs: firstRetryMs };
}
