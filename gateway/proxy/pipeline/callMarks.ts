import { type Api, apiOf, rootApi } from '../../config/api.ts';
import { CallMarker, type CountedMark, type MarkFiles } from '../../usage/ledger/callMarks.ts';
import { slotOf, slotsPerTable } from '../../usage/ledger/markFile.ts';
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
  #lastIgnored: { readonly client: string; readonly api: Api } | undefined;
  /** By slot, epoch ms: a client may call any number of versions that do not exist. */
  readonly #nextUnlistedMarks = new Float64Array(slotsPerTable);

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
    const api = apiOf(version.name, exchange.activeSnapshot.snapshot);
    if (!this.#isByIgnoredClient(exchange, api)) this.#mark(version.major, requests);
  }

  /** Called for a request to a version that routes.yaml does not list, before it is answered. */
  onUnlistedCall(exchange: Exchange, major: number): void {
    const slot = slotOf(major);
    if (exchange.now < (this.#nextUnlistedMarks[slot] ?? 0)) return;
    if (this.#isByIgnoredClient(exchange, rootApi(exchange.activeSnapshot.snapshot))) return;
    const now = this.#context.now();
    this.#marker.mark(major, now);
    this.#nextUnlistedMarks[slot] = now + markIntervalMs;
  }

  /**
   * Called before the process counts all requests that have begun. Marks the requests again that are in flight or wait, because they
   * go on. @returns the calls that are counted then; undefined if a request has begun that cannot be counted yet, because its client
   * is still reading a refusal
   */
  beginCount(): CountedMark | undefined {
    const { process, last: until } = this.#marker;
    const { snapshot } = this.#context.activeSnapshot;
    this.#nextUnlistedMarks.fill(0);
    let open = 0;
    for (const [name, requests] of this.#requestsByVersion) {
      requests.nextMarkAt = 0;
      const isIgnored = this.#isIgnoredIn(apiOf(name, snapshot));
      open += requests.inFlightCount + requests.queue.length;
      const isOpen = isIgnored
        ? requests.queue.length > 0 ||
          [...requests.inFlight].some((one) => !isIgnored({ client: one.identify(), name: undefined }))
        : requests.inFlightCount + requests.queue.length > 0;
      if (isOpen) this.#mark(snapshot.versions.get(name)?.major ?? Number(name.slice(1)), requests);
    }
    return this.#context.unrecordedExchanges > open ? undefined : { process, until };
  }

  close(): void {
    this.#marker.close();
  }

  #mark(major: number, requests: VersionRequests): void {
    const now = this.#context.now();
    this.#marker.mark(major, now);
    requests.nextMarkAt = now + markIntervalMs;
  }

  /** The calls of a probe say nothing about the use of a version, so a crash must not hide it. */
  #isByIgnoredClient(exchange: Exchange, api: Api): boolean {
    const isIgnored = this.#isIgnoredIn(api);
    if (!isIgnored) return false;
    const client = exchange.identify();
    if (client === this.#lastIgnored?.client && api === this.#lastIgnored.api) return true;
    if (!isIgnored({ client, name: undefined })) return false;
    this.#lastIgnored = { client, api };
    return true;
  }

  /** Undefined if the API ignores no client. */
  #isIgnoredIn(api: Api): IsIgnored | undefined {
    const { ignoreClients } = api.retire;
    if (ignoreClients.length === 0) return undefined;
    const known = this.#ignored.get(api);
    if (known) return known;
    const isIgnored = ignoredBy(ignoreClients);
    this.#ignored.set(api, isIgnored);
    return isIgnored;
  }
}
