import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import type { HostPort } from '../../config/snapshot.ts';
import { type GatewayRow, type GatewayRows, isSilent, leftOrGoneAt } from './membership.ts';

const connectTimeoutMs = 1_000;
// The address of a gateway that has left may stay in the DNS, and in its caches, for this long.
const dnsDelayMs = 60_000;

/** Which gateways are gone, and from which addresses no gateway was heard. */
export interface MembersCheck {
  /** The rows of silent gateways that do not exist any more. */
  readonly gone: readonly GatewayRow[];
  /** Addresses that are expected to be gateways, and from which no gateway was heard. */
  readonly unheardAddresses: readonly string[];
  /** Why no lookup has listed this gateway for a minute; undefined: no problem. If the last lookup did not list it, `gone` is empty. */
  readonly problem: string | undefined;
}

/** Compares the gateways in the store with those that should run: the addresses of a DNS name. */
export class Members {
  readonly #dnsName: HostPort;
  readonly #silentAfter: number;
  readonly #isAtOnce: boolean;
  /** The answer of the last lookup that worked. */
  #listedAddresses: readonly string[] = [];
  /** Since when each listed address has had no gateway, by the clock of the database. */
  #unclaimedSince = new Map<string, number>();
  /** When a lookup last listed this gateway; before that, the time of the first lookup. By the clock of the database. */
  #listedAt: number | undefined;

  /**
   * `silentAfter` in ms. `isAtOnce`: an address from which no gateway was heard is reported at once, because gateways may serve clients
   * before the store knows them. Otherwise it is reported after `silentAfter`.
   */
  constructor(name: HostPort, silentAfter: number, isAtOnce = false) {
    this.#dnsName = name;
    this.#silentAfter = silentAfter;
    this.#isAtOnce = isAtOnce;
  }

  /** After a failed lookup, no gateway is reported as gone. `ownAddresses`: the addresses of this gateway. Never throws. */
  async check({ rows, now }: GatewayRows, ownAddresses: readonly string[]): Promise<MembersCheck> {
    // The notice names the DNS name before this text.
    let reason = 'its addresses are not those of this gateway';
    const foundAddresses = await lookup(this.#dnsName.host, { all: true }).catch((error: Error) => {
      reason = error.message;
      return [];
    });
    if (foundAddresses.length > 0) this.#listedAddresses = foundAddresses.map(({ address }) => plainAddress(address));
    // If the DNS server does not list this gateway, although this gateway runs, its answer is old or incomplete.
    const isTrusted =
      foundAddresses.length > 0 &&
      ownAddresses.some((address) => this.#listedAddresses.includes(plainAddress(address)));
    this.#listedAt = isTrusted ? now : (this.#listedAt ?? now);
    return {
      gone: isTrusted ? await this.#gone(rows, now) : [],
      unheardAddresses: this.#unheardAddresses(rows, now),
      problem: now - this.#listedAt > dnsDelayMs ? reason : undefined,
    };
  }

  async #gone(rows: readonly GatewayRow[], now: number): Promise<GatewayRow[]> {
    const silent = rows.filter((row) => leftOrGoneAt(row) === undefined && isSilent(row, now, this.#silentAfter));
    const checks = silent.map(async (row) => {
      // A gateway without an address cannot be checked.
      if (row.addresses.length === 0) return [];
      const addresses = row.addresses.map(plainAddress).filter((address) => !isReused(address, row, rows));
      if (addresses.some((address) => this.#listedAddresses.includes(address))) return [];
      const answers = await Promise.all(addresses.map((host) => acceptsConnections(host, this.#dnsName.port)));
      return answers.includes(true) ? [] : [row];
    });
    return (await Promise.all(checks)).flat();
  }

  #unheardAddresses(rows: readonly GatewayRow[], now: number): string[] {
    const recentRows = rows.filter((row) => now - (leftOrGoneAt(row) ?? now) < dnsDelayMs);
    const claimed = new Set(recentRows.flatMap(({ addresses }) => addresses.map(plainAddress)));
    const unclaimed = this.#listedAddresses.filter((address) => !claimed.has(address));
    this.#unclaimedSince = new Map(unclaimed.map((address) => [address, this.#unclaimedSince.get(address) ?? now]));
    const unheardFor = (address: string): number => now - (this.#unclaimedSince.get(address) ?? now);
    return unclaimed.filter((address) => this.#isAtOnce || unheardFor(address) > this.#silentAfter);
  }
}

/** Whether a platform gave the address to another gateway, which started after the gateway of the row was last heard. */
function isReused(address: string, { instance, heard }: GatewayRow, rows: readonly GatewayRow[]): boolean {
  return rows.some(
    (other) =>
      other.instance !== instance && other.started > heard && other.addresses.map(plainAddress).includes(address),
  );
}

/** `::ffff:10.0.0.1` is `10.0.0.1`. */
function plainAddress(address: string): string {
  return address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '');
}

function acceptsConnections(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: connectTimeoutMs });
    const finish = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => finish(true));
    socket.once('error', () => finish(false));
    socket.once('timeout', () => finish(false));
  });
}
