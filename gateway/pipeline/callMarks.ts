import type { Snapshot } from '../config/snapshot.ts';
import { type IsIgnored, ignoredBy } from '../retirement/countedUsage.ts';
import { CallMarker, type CountedMark, type MarkFiles } from '../usage/ledger/callMarks.ts';
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
  #ignored: { readonly snapshot: Snapshot; readonly isIgnored: IsIgnored | undefined } | undefined;
  /** The ignored client that called last. While nobody else calls, each of its requests asks whether it is ignored. */
  #lastIgnored: string | undefined;

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
    const isIgnored = this.#isIgnored(exchange.activeSnapshot.snapshot);
    // The calls of a probe say nothing about the use of a version, so a crash must not hide it.
    if (isIgnored) {
      const client = exchange.identify();
      if (client === this.#lastIgnored) return;
      if (isIgnored({ client, name: undefined })) {
        this.#lastIgnored = client;
        return;
      }
    }
    this.#mark(version.major, requests);
  }

  /**
   * Called before the process counts all requests that have begun. Marks the requests again that are in flight or wait, because they
   * go on. @returns the calls that are counted then; undefined if a request has begun that cannot be counted yet, because its client
   * is still reading a refusal
   */
  beginCount(): CountedMark | undefined {
    const { process, last: until } = this.#marker;
    const { snapshot } = this.#context.activeSnapshot;
    const isIgnored = this.#isIgnored(snapshot);
    let open = 0;
    for (const [name, requests] of this.#requestsByVersion) {
      requests.nextMarkAt = 0;
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

  /** Undefined if no client is ignored. */
  #isIgnored(snapshot: Snapshot): IsIgnored | undefined {
    if (this.#ignored?.snapshot !== snapshot) {
      const { ignoreClients } = snapshot.retire;
      const isIgnored = ignoreClients.length === 0 ? undefined : ignoredBy(ignoreClients);
      this.#ignored = { snapshot, isIgnored };
      this.#lastIgnored = undefined;
    }
    return this.#ignored.isIgnored;
  }
}
