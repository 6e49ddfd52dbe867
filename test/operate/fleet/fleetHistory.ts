import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { type Backend, okAnswer, type SeenRequest, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import type { PostgresServer } from '../../support/postgres.ts';
import { Random } from '../../support/random.ts';
import type { TcpProxy } from '../../support/tcpProxy.ts';
import { behindProxy, createFleet, dump, type Fleet, kill, settings } from './coveredFleet.ts';
import { ask, type FleetGateway, quick, startFleetGateway, writeMountedRoutes } from './fleetGateway.ts';
import { query } from './startMember.ts';

const minute = 60_000;
/** A count is in the store after this time, if nothing fails. */
const usageDelayMs = 10_000;
/** The freeze of /v1 begins so long after the start of the history. */
const freezeDelayMs = 12_000;
const mostRunning = 3;

/** A gateway of the fleet, which may run or not. */
interface Member {
  readonly name: string;
  readonly folder: string;
  readonly proxy: TcpProxy;
  /** The address of the store behind the proxy. */
  readonly store: string;
  readonly clockFile: string;
  gateway: FleetGateway | undefined;
  isPaused: boolean;
  isCutOff: boolean;
  /** Whether it serves /v3. */
  servesThird: boolean;
  /** Requests of /v3 that wait for their response. */
  readonly open: Set<unknown>;
  /** When its last run ended, epoch ms; undefined: it runs, or never ran. */
  endedAt: number | undefined;
}

/** A place that has said yes, and what shows that it is wrong. */
interface WrongYes {
  readonly place: string;
  readonly events: readonly string[];
}

/**
 * A generated history of a fleet: real gateways, a real store, and the requests that the backend has seen as the truth. Its ledger covers
 * two days, so a yes about /v1 is right until a backend has seen a call of it, and wrong from then on.
 */
export class FleetHistory {
  readonly events: string[] = [];
  readonly wrong: WrongYes[] = [];
  readonly yeses = new Set<string>();
  readonly #random: Random;
  readonly #fleet: Fleet;
  readonly #server: PostgresServer;
  readonly #members: Member[] = [];
  #restore: (() => Promise<void>) | undefined;
  #hadWrongClock = false;
  /** When a backend saw the first call of /v1, by `performance.now` and in epoch ms; undefined: it has seen none. */
  #firstCall: number | undefined;
  #calledAt: number | undefined;
  readonly #frozenFrom = Math.ceil((Date.now() + freezeDelayMs) / 1_000) * 1_000;
  readonly #thirdBackend: Backend;
  /** Ends the proxies of the history. */
  readonly #ends: (() => void)[] = [];

  private constructor(seed: number, server: PostgresServer, fleet: Fleet, third: Backend) {
    this.#random = new Random(seed);
    this.#thirdBackend = third;
    this.#server = server;
    this.#fleet = fleet;
  }

  static async play(seed: number, server: PostgresServer): Promise<FleetHistory> {
    // A path with `wait` gets no response.
    const script = ({ target }: SeenRequest) => (target.includes('wait') ? undefined : okAnswer);
    const third = await startBackend(script);
    const history = new FleetHistory(seed, server, await createFleet(server, script), third);
    try {
      await history.#play();
    } catch (error) {
      throw new Error(`seed ${seed} after ${history.events.join(', ')}`, { cause: error });
    } finally {
      await history.#end();
    }
    return history;
  }

  async #play(): Promise<void> {
    const random = this.#random;
    await this.#start(await this.#newMember());
    await eventually(async () => {
      await this.#ask();
      if (!this.yeses.has('can-retire')) throw new Error('no gateway says yes');
    }, 1_000);
    for (let steps = random.below(4); steps > 0; steps -= 1) await this.#step();
    if (random.happens(0.3)) await this.#ask();
    await this.#call();
    for (let steps = 1 + random.below(5); steps > 0; steps -= 1) {
      if (random.happens(0.5)) await this.#ask();
      await this.#step();
    }
    await this.#ask();
    if (random.happens(0.5)) {
      await this.#repair();
      await this.#ask();
    }
  }

  /** What happens to the fleet. Without a call of /v1. */
  async #step(): Promise<void> {
    const random = this.#random;
    const running = this.#members.filter(({ gateway }) => gateway !== undefined);
    const stopped = this.#members.filter(({ gateway }) => gateway === undefined);
    const one = running.length === 0 ? undefined : random.of(running);
    const choices: [weight: number, name: string, act: () => Promise<unknown>][] = [
      [running.length < mostRunning ? 3 : 0, 'start', async () => this.#start(await this.#newMember())],
    ];
    if (stopped.length > 0) {
      const member = random.of(stopped);
      choices.push([running.length < mostRunning ? 4 : 0, 'restart', () => this.#start(member)]);
      choices.push([1, 'lose ledger', async () => this.#loseLedger(member)]);
      choices.push([1, 'forget', () => this.#forget(member)]);
    }
    if (one !== undefined) {
      choices.push([3, 'kill', () => this.#stop(one, 'SIGKILL')]);
      choices.push([3, 'term', () => this.#stop(one, 'SIGTERM')]);
      choices.push([2, 'pause', async () => this.#pause(one, !one.isPaused)]);
      choices.push([3, 'cut', async () => this.#cut(one, !one.isCutOff)]);
      choices.push([
        2,
        'clock',
        () => this.#setClock(one, random.of([0, 3_000, 20 * minute, -20 * minute, -120 * minute])),
      ]);
      choices.push([2, 'edit', () => this.#retireThird(one)]);
      choices.push([2, 'open', () => this.#openCall(one, '/v3/wait')]);
      choices.push([1, 'dump', async () => this.#dump()]);
    }
    if (this.#restore !== undefined) choices.push([2, 'restore', async () => this.#restoreDump()]);
    choices.push([1, 'crash', () => this.#crashStore()]);
    choices.push([2, 'wait', () => this.#wait(random.of([300, 1_500, 5_000]))]);
    let left = random.below(choices.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, , act] of choices) {
      if (left < weight) return void (await act());
      left -= weight;
    }
  }

  async #newMember(): Promise<Member> {
    const folder = temporaryFolder();
    const clockFile = join(folder, 'clock');
    writeFileSync(clockFile, '0');
    const { proxy, store } = await behindProxy(this.#server, this.#fleet, (end) => this.#ends.push(end));
    const name = `gw-${this.#members.length + 1}`;
    const states = { gateway: undefined, isPaused: false, isCutOff: false, servesThird: true, endedAt: undefined };
    const member: Member = { name, folder, proxy, store, clockFile, ...states, open: new Set() };
    this.#members.push(member);
    return member;
  }

  async #start(member: Member): Promise<void> {
    const { name, folder, clockFile } = member;
    this.events.push(`${name} starts`);
    // It serves clients only after it has reached the store.
    this.#cut(member, false);
    member.gateway = await startFleetGateway({ ...this.#optionsOf(member), folder, name, clockFile });
    member.endedAt = undefined;
  }

  #optionsOf({ store, servesThird, name }: Member) {
    const { routes, upstream } = this.#fleet;
    const first = { ...(routes['/v1'] as object), freeze: { from: new Date(this.#frozenFrom).toISOString() } };
    const third = { upstream: this.#thirdBackend.url, deprecation: '2026-01-01', sunset: '2026-02-01' };
    const edited = servesThird ? third : { ...third, retired: true };
    return {
      store,
      name,
      routes: { ...routes, '/v1': first, '/v3': edited, '/v4': upstream },
      settings: {
        ...settings,
        guard: { ...settings.guard, force: servesThird ? {} : { '/v3': 'the history retires it' } },
      },
      fleet: {},
    };
  }

  async #stop(member: Member, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { gateway } = member;
    if (gateway === undefined) return;
    this.events.push(`${member.name} gets ${signal}`);
    this.#pause(member, false);
    await kill(gateway, signal);
    member.gateway = undefined;
    member.endedAt = Date.now();
  }

  #pause(member: Member, isPaused: boolean): void {
    if (member.isPaused === isPaused) return;
    this.events.push(`${member.name} ${isPaused ? 'is stopped by a signal' : 'goes on'}`);
    member.isPaused = isPaused;
    member.gateway?.child.kill(isPaused ? 'SIGSTOP' : 'SIGCONT');
  }

  #cut(member: Member, isCutOff: boolean): void {
    if (member.isCutOff === isCutOff) return;
    this.events.push(`${member.name} ${isCutOff ? 'is cut off from' : 'reaches'} the store`);
    member.isCutOff = isCutOff;
    if (isCutOff) member.proxy.cut();
    else member.proxy.restore();
  }

  async #setClock(member: Member, offset: number): Promise<void> {
    this.events.push(`the clock of ${member.name} is ${offset / 1000} s off`);
    this.#hadWrongClock ||= offset !== 0;
    writeFileSync(member.clockFile, `${offset}          `);
    // The store learns it with the next heartbeats.
    await sleep(1_000);
  }

  /** From now on, the gateway sends no request to the backend of /v3. */
  async #retireThird(member: Member): Promise<void> {
    if (!member.servesThird || member.isPaused || member.gateway === undefined) return;
    writeMountedRoutes(member.folder, this.#optionsOf({ ...member, servesThird: false }));
    const { kind } = (await this.#api(member, '/api/reload', {})) as { kind: string };
    const isRetired = kind === 'reloaded' || (kind === 'unchanged' && (await this.#stageOfThird(member)) === 'retired');
    this.events.push(`${member.name} ${isRetired ? 'retires' : 'refuses to retire'} /v3`);
    member.servesThird = !isRetired;
    if (!isRetired) writeMountedRoutes(member.folder, this.#optionsOf(member));
  }

  async #stageOfThird(member: Member): Promise<string | undefined> {
    const { versions } = (await this.#api(member, '/api/status')) as StatusBody;
    return versions.find(({ version }) => version === 'v3')?.stage;
  }

  #loseLedger({ name, folder }: Member): void {
    this.events.push(`the ledger of ${name} is lost`);
    for (const end of ['', '-wal', '-shm', '.calls']) rmSync(join(folder, `usage.db${end}`), { force: true });
  }

  /** An operator who knows when it ended says so, or only that it is gone. */
  async #forget({ name, endedAt }: Member): Promise<void> {
    const asked = this.#members.find((one) => one.gateway !== undefined && !one.isPaused);
    if (asked?.gateway === undefined || endedAt === undefined) return;
    const when = this.#random.happens(0.5) ? ['--ended-at', new Date(endedAt + 1_000).toISOString()] : [];
    this.events.push(`${asked.name} is told to forget ${name}${when.length > 0 ? ', and when it ended' : ''}`);
    await ask(asked.gateway, 'fleet', 'forget', name, '--reason', 'its machine is broken', ...when);
  }

  /** While a gateway runs: of a dump that was made while none ran, nobody may know who ran between it and the restore. */
  async #dump(): Promise<void> {
    this.events.push('dump');
    this.#restore = await dump(this.#fleet.store, { recreate: true });
  }

  async #restoreDump(): Promise<void> {
    this.events.push('restore');
    // A gateway that writes meanwhile would make the restore wait for it.
    await this.#disconnectAll();
    await this.#restore?.();
  }

  async #crashStore(): Promise<void> {
    this.events.push('the store crashes');
    await this.#server.crash();
    await this.#server.start();
  }

  async #wait(ms: number): Promise<void> {
    this.events.push(`${ms} ms pass`);
    await sleep(ms);
  }

  async #disconnectAll(): Promise<void> {
    await query(
      this.#fleet.store,
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
  }

  /** Ends every fault, and starts a gateway if none runs. */
  async #repair(): Promise<void> {
    this.events.push('all faults end');
    for (const member of this.#members) {
      this.#pause(member, false);
      this.#cut(member, false);
      writeFileSync(member.clockFile, '0          ');
    }
    for (const member of this.#members)
      if (member.gateway === undefined && this.#random.happens(0.5)) await this.#start(member);
    await sleep(1_500);
  }

  /** A backend sees a call of /v1. The gateway may be cut off from the store, and may be killed before the response. */
  async #call(): Promise<void> {
    const able = (): Member[] => this.#members.filter(({ gateway, isPaused }) => gateway !== undefined && !isPaused);
    if (able().length === 0) await this.#start(await this.#newMember());
    const member = this.#random.of(able());
    const path = this.#random.of(['/v1/drinks', '/v1/drinks', '/v1/wait']);
    await this.#openCall(member, path);
    const fate = this.#random.below(4);
    if (fate === 0) await this.#stop(member, 'SIGKILL');
    if (fate === 1 && !member.isCutOff) await this.#stop(member, 'SIGTERM');
  }

  /** Sends a request, and waits until the backend has seen it. */
  async #openCall(member: Member, path: string): Promise<void> {
    const { gateway } = member;
    if (gateway === undefined || member.isPaused || (path.startsWith('/v3') && !member.servesThird)) return;
    this.events.push(`${member.name} gets ${path}`);
    const { requests } = path.startsWith('/v3') ? this.#thirdBackend : this.#fleet.backend;
    const before = requests.length;
    const headers = { 'x-client-id': 'a' };
    const response = fetch(`http://127.0.0.1:${gateway.port}${path}`, { headers }).then((one) => one.text());
    const isThird = path.startsWith('/v3');
    if (isThird) member.open.add(response);
    response.catch(() => {}).finally(() => member.open.delete(response));
    await eventually(() => {
      if (requests.length === before) throw new Error('the backend has not seen it yet');
    });
    if (!isThird) {
      this.#firstCall ??= performance.now();
      this.#calledAt ??= Date.now();
    }
    if (!path.includes('wait')) await response;
  }

  /** Asks every place at one gateway, and the store. */
  async #ask(): Promise<void> {
    const answering = this.#members.filter(({ gateway, isPaused }) => gateway !== undefined && !isPaused);
    const yeses = await this.#yesesOfStore();
    if (answering.length > 0) {
      const asked = this.#random.of(answering);
      this.events.push(`${asked.name} is asked`);
      const places = ['retirement', 'plan', 'guard', 'digest', 'usage', 'status'] as const;
      for (const found of await Promise.all(places.map((place) => this.#yesesOf(place, asked)))) yeses.push(...found);
    }
    for (const { place, isWrong } of yeses) {
      this.yeses.add(place);
      if (isWrong) this.wrong.push({ place, events: [...this.events] });
    }
  }

  async #yesesOf(
    place: 'retirement' | 'plan' | 'guard' | 'digest' | 'usage' | 'status',
    asked: Member,
  ): Promise<readonly FoundYes[]> {
    // A call that the backend sees while the question is asked may be too late for it.
    const isWrong = this.#firstCall !== undefined;
    const yes = (name: string, isYes: boolean): FoundYes[] => (isYes ? [{ place: name, isWrong }] : []);
    switch (place) {
      case 'retirement': {
        const { answer } = (await this.#api(asked, '/api/versions/v1/retirement')) as { answer?: string };
        return yes('can-retire', answer === 'yes');
      }
      case 'plan': {
        const plan = (await this.#api(asked, '/api/plan', { retire: 'v1' })) as PlanBody;
        return yes('plan', plan.known === true && plan.total.lost === 0);
      }
      case 'guard': {
        const body = { routes_yaml: this.#withFirstRetired(asked) };
        const { kind } = (await this.#api(asked, '/api/reload/preview', body)) as { kind?: string };
        return yes('the guard', kind === 'reloaded');
      }
      case 'digest': {
        const { data } = (await this.#api(asked, '/api/digest?since=1h')) as DigestBody;
        const first = data?.versions.find(({ version }) => version === 'v1');
        return [
          ...yes('digest: nothing blocks', first?.blocked_by.length === 0),
          ...yes('digest: not called', first?.known === true && first.requests === 0),
        ];
      }
      case 'usage': {
        const path = '/api/usage?by=version&version=v1&since=1h';
        const report = (await this.#api(asked, path)) as UsageBody;
        return isUnused(report) && report.held === 0 ? [{ place: 'usage', isWrong: this.#isCallOld }] : [];
      }
      case 'status': {
        const { versions, freezes = [] } = (await this.#api(asked, '/api/status')) as StatusBody;
        const isSafe = versions.find(({ version }) => version === 'v3')?.safe_to_stop === true;
        // A response that ends now is seen here a moment later.
        await sleep(100);
        const isUsed = this.#members.some(
          ({ gateway, servesThird, open }) => gateway !== undefined && (servesThird || open.size > 0),
        );
        const isLate = this.#hadWrongClock || this.#calledAt === undefined || this.#calledAt > this.#frozenFrom - 1_000;
        const isFrozen = freezes.some((one) => one.state === 'active' && one.known_clients === 0);
        return [
          ...(isSafe ? [{ place: 'status --wait', isWrong: isUsed }] : []),
          ...(isFrozen ? [{ place: 'a freeze', isWrong: !isLate }] : []),
        ];
      }
    }
  }

  /** Counts are in the store some seconds after the call. */
  get #isCallOld(): boolean {
    return this.#firstCall !== undefined && performance.now() - this.#firstCall > usageDelayMs;
  }

  /** The commands that ask the store, and no gateway. */
  async #yesesOfStore(): Promise<FoundYes[]> {
    const isWrong = this.#firstCall !== undefined;
    const ofStore = (...command: readonly string[]) => runIn('.', [...command, '--store', this.#fleet.store]);
    const config = join(this.#members[0]?.folder ?? '', 'routes.yaml');
    const plan = await ofStore('plan', '--retire', '/v1', '--config', config);
    const digest = await ofStore('digest', '--since', '1h', '--config', config);
    const usage = await ofStore('usage', '/v1', '--by', 'version', '--since', '1h', '--format', 'json');
    const ofFirst = /\n#+ \/v1[\s\S]*?(?=\n#|$)/.exec(digest.stdout)?.[0] ?? '';
    return [
      { place: 'plan --store', isYes: plan.code === 0, isWrong },
      { place: 'digest --store: nothing blocks', isYes: /Nothing in the ledger blocks/.test(ofFirst), isWrong },
      { place: 'digest --store: not called', isYes: /No client called it/.test(ofFirst), isWrong },
      {
        place: 'usage --store',
        isYes: usage.code === 0 && isUnused(JSON.parse(usage.stdout) as UsageBody),
        isWrong: this.#isCallOld,
      },
    ].filter(({ isYes }) => isYes);
  }

  /** routes.yaml of a gateway, in which /v1 is retired. */
  #withFirstRetired(member: Member): string {
    const { routes: present, settings: sections, store, name } = this.#optionsOf(member);
    const routes = { ...present, '/v1': { ...present['/v1'], retired: true } };
    return stringify({
      routes,
      gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s' },
      usage: { store: join(member.folder, 'usage.db') },
      ...sections,
      fleet: { store, name, ...quick },
    });
  }

  /** The answer, or an empty object if the gateway has none. */
  async #api({ gateway }: Member, path: string, body?: object): Promise<unknown> {
    const init = body && {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    };
    const response = await fetch(`http://${gateway?.admin}${path}`, init);
    const answer: unknown = await response.json();
    // A refused edit has an answer, too.
    if (response.ok || (answer as { kind?: string }).kind === 'refused') return answer;
    if (response.status === 503) return { versions: [], rows: [] };
    throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
  }

  async #end(): Promise<void> {
    for (const member of this.#members) await this.#stop(member, 'SIGKILL');
    for (const end of this.#ends) end();
    for (const { folder } of this.#members) rmSync(folder, { recursive: true, force: true });
  }
}

interface FoundYes {
  readonly place: string;
  readonly isWrong: boolean;
}

interface PlanBody {
  readonly known?: boolean;
  readonly total: { readonly lost: number };
}

interface DigestBody {
  readonly data?: {
    readonly versions: readonly {
      readonly version: string;
      readonly known: boolean;
      readonly requests: number;
      readonly blocked_by: readonly unknown[];
    }[];
  };
}

interface UsageBody {
  readonly since?: string;
  readonly counted_since?: string | null;
  readonly problems?: readonly string[];
  readonly held?: number;
  readonly rows: readonly { readonly requests: number }[];
}

interface StatusBody {
  readonly versions: readonly { readonly version: string; readonly stage: string; readonly safe_to_stop: boolean }[];
  readonly freezes?: readonly { readonly state: string; readonly known_clients: number | null }[];
}

/** Whether the report says that the version was not called in the whole period. */
function isUnused({ since, counted_since, problems, rows }: UsageBody): boolean {
  const isWhole = counted_since === since && problems?.length === 0;
  return isWhole && rows.every(({ requests }) => requests === 0);
}
