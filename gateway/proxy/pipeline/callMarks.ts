import { type Api, type Apis, baseOf } from '../../config/api.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { CallMarker, type CountedMark, type MarkFiles } from '../../usage/ledger/callMarks.ts';
import { type IsIgnored, ignoredBy } from '../../versions/retirement/countedUsage.ts';
import type { ActiveVersion } from './activeVersion.ts';
import type { Exchange, GatewayContext } from './exchange.ts';
import type { VersionRequests } from './inFlight.ts';

// One mark per version and second. Between two marks, a request costs one comparison.
const markIntervalMs = 1000;

/** Marks the calls that this process has begun to answer, and tells which of them are counted. */
export class VersionCallMarks {
  readonly #marker: CallMarker;
  readonly #context: GatewayContext;
  readonly #requestsByVersion: ReadonlyMap<string, VersionRequests>;
  /** Tells which clients an API ignores. A reload makes new APIs. */
  readonly #ignored = new WeakMap<Api, IsIgnored>();
  /** The ignored client that called last. While nobody else calls, each of its requests asks whether it is ignored. */
  #lastIgnored: { readonly client: string; readonly version: string; readonly apis: Apis } | undefined;
  /** By the name in the mark, epoch ms. A client may call any number of versions that do not exist, but most of them share one mark. */
  readonly #nextUnlistedMarks = new Map<string, number>();

  /** `files`, `process`: where this process writes its marks. */
  constructor(
    { files, process }: { readonly files: MarkFiles; readonly process: number },
    context: GatewayContext,
    requestsByVersion: ReadonlyMap<string, VersionRequests>,
  ) {
    this.#marker = new CallMarker(files, process);
    this.#context = context;
    this.#requestsByVersion = requestsByVersion;
  }

  /** Called for a request whose version was not marked lately, before the request is forwarded or answered. */
  onCall(exchange: Exchange, { version, requests }: ActiveVersion): void {
    if (!this.#isByIgnoredClient(exchange, version.name)) this.#mark(version.name, requests);
  }

  /** Called for a request to a version that routes.yaml does not list, before it is answered. */
  onUnlistedCall(exchange: Exchange, version: string): void {
    const name = this.#marker.nameOfUnlisted(version);
    if (exchange.now < (this.#nextUnlistedMarks.get(name) ?? 0)) return;
    if (this.#isByIgnoredClient(exchange, version)) return;
    const now = this.#context.now();
    this.#marker.mark(name, now);
    this.#nextUnlistedMarks.set(name, now + markIntervalMs);
  }

  /**
   * Called before the process counts all requests that have begun. Marks the requests again that are in flight or wait, because they
   * go on. @returns the calls that are counted then; undefined if a request has begun that cannot be counted yet, because its client
   * is still reading a refusal
   */
  beginCount(): CountedMark | undefined {
    const { process, last: until } = this.#marker;
    const { snapshot } = this.#context.activeSnapshot;
    this.#nextUnlistedMarks.clear();
    let open = 0;
    for (const [name, requests] of this.#requestsByVersion) {
      requests.nextMarkAt = 0;
      const isIgnored = this.#isIgnoredFor(name, snapshot);
      open += requests.inFlightCount + requests.queue.length;
      const isOpen = isIgnored
        ? requests.queue.length > 0 ||
          [...requests.inFlight].some((one) => !isIgnored({ client: one.identify(), name: undefined }))
        : requests.inFlightCount + requests.queue.length > 0;
      if (isOpen) this.#mark(name, requests);
    }
    return this.#context.unrecordedExchanges > open ? undefined : { process, until };
  }

  close(): void {
    this.#marker.close();
  }

  #mark(version: string, requests: VersionRequests): void {
    const now = this.#context.now();
    this.#marker.mark(version, now);
    requests.nextMarkAt = now + markIntervalMs;
  }

  /** The calls of a probe say nothing about the use of a version, so a crash must not hide it. */
  #isByIgnoredClient(exchange: Exchange, version: string): boolean {
    const { snapshot } = exchange.activeSnapshot;
    const { apis } = snapshot;
    const last = this.#lastIgnored;
    if (last?.version === version && last.apis === apis && last.client === exchange.identify()) return true;
    const isIgnored = this.#isIgnoredFor(version, snapshot);
    if (!isIgnored) return false;
    const client = exchange.identify();
    if (!isIgnored({ client, name: undefined })) return false;
    this.#lastIgnored = { client, version, apis };
    return true;
  }

  /**
   * Undefined if the API of a version ignores no client. Open requests may be to an API that a reload has removed: the clients that
   * another one ignores are marked there, because the ledger knows for which API a client is not marked.
   */
  #isIgnoredFor(version: string, { apis }: Pick<Snapshot, 'apis'>): IsIgnored | undefined {
    const api = apis.get(baseOf(version));
    const { ignoreClients } = api?.retire ?? { ignoreClients: [] };
    if (!api || ignoreClients.length === 0) return undefined;
    const known = this.#ignored.get(api);
    if (known) return known;
    const isIgnored = ignoredBy(ignoreClients);
    this.#ignored.set(api, isIgnored);
    return isIgnored;
  }
}
