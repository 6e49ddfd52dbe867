import { describe, expect, it } from 'vitest';
import type { Identifier } from '../../../gateway/config/snapshot.ts';
import { Collector, type OpenRequest } from '../../../gateway/usage/counting/collector.ts';
import type { CountedExchange } from '../../../gateway/usage/counting/countedExchange.ts';
import { ClientIdentification } from '../../../gateway/usage/counting/identification.ts';
import type { UsageBatch } from '../../../gateway/usage/usageRow.ts';
import { addUp, hourMs, noon, randomOf, total } from '../model.ts';

const identify: readonly Identifier[] = [{ by: 'header', name: 'x-client-id' }, { by: 'user-agent' }];

function collectorOf({ maxClients = 1_000, maxRoutes = 100 } = {}): Collector {
  return new Collector({ identify, maxClients, maxRoutes }, new ClientIdentification(identify, 'salt'));
}

function exchange(part: Partial<CountedExchange> & { client?: string } = {}): CountedExchange {
  return {
    version: 'v1',
    method: 'GET',
    resource: '/drinks/7',
    paths: undefined,
    rawHeaders: part.client === undefined ? [] : ['X-Client-Id', part.client],
    address: '192.0.2.1',
    status: 200,
    served: true,
    at: noon,
    bodySize: 0,
    targetSize: 0,
    headSize: 0,
    ...part,
  };
}

it('lists the versions with counts that were not taken', () => {
  const collector = collectorOf();
  const open = collector.open(exchange({ version: 'v2', client: 'shop' }));
  for (let count = 0; count < 3; count += 1) collector.count(exchange({ client: 'shop' }));
  expect([...collector.versions]).toEqual(['v2', 'v1']);
  collector.take();
  expect([...collector.versions]).toEqual([]);
  collector.finish(open, { status: 200, served: true, bodySize: 0, endedAt: noon + hourMs });
  expect([...collector.versions]).toEqual(['v2']);
});

it('keeps the largest sizes of the requests that a backend answered and that did not fail', () => {
  const collector = collectorOf();
  const sizes = (bodySize: number, targetSize: number, headSize: number) => ({ bodySize, targetSize, headSize });
  collector.count(exchange({ client: 'shop', ...sizes(10, 30, 200) }));
  collector.count(exchange({ client: 'shop', ...sizes(5, 40, 100) }));
  // A backend may fail, and a client may leave; but a request that is answered 4xx, or by the gateway, is not used.
  collector.count(exchange({ client: 'shop', status: 502, ...sizes(11, 0, 0) }));
  collector.count(exchange({ client: 'shop', status: 413, ...sizes(900, 900, 900) }));
  collector.count(exchange({ client: 'shop', status: 504, served: false, ...sizes(800, 800, 800) }));
  expect(collector.take()).toMatchObject([{ body: 11, target: 40, head: 200 }]);
});

it('knows the size of a body that was still arriving when the request was counted', () => {
  const collector = collectorOf();
  const upload = collector.open(exchange({ status: 0, served: false, bodySize: 100, targetSize: 20, headSize: 90 }));
  expect(collector.take()).toMatchObject([{ body: 0, target: 0, head: 0 }]);
  collector.finish(upload, { status: 201, served: true, bodySize: 5000, endedAt: noon + 2 * hourMs });
  expect(collector.take().map(({ hour, body, target, head }) => [hour - noon, body, target, head])).toEqual([
    [2 * hourMs, 0, 0, 0],
    [0, 5000, 20, 90],
  ]);
  const refused = collector.open(exchange({ status: 0, served: false, bodySize: 100, targetSize: 20, headSize: 90 }));
  collector.finish(refused, { status: 413, served: true, bodySize: 5000, endedAt: noon + 1 });
  expect(collector.take().every(({ body, target }) => body === 0 && target === 0)).toBe(true);
});

it.each([
  [200, true, true],
  [204, true, true],
  [304, true, false],
  [401, true, false],
  [500, true, false],
  // The gateway answered it itself.
  [204, false, false],
])('records whether a backend accepted a request: %i, served %s', (status, served, isAccepted) => {
  const collector = collectorOf();
  collector.count(exchange({ client: 'shop', status, served }));
  const open = collector.open(exchange({ client: 'reader', status: 0, served: false }));
  collector.finish(open, { status, served, bodySize: 0, endedAt: noon + 9 });
  expect(collector.take().map(({ accepted }) => accepted > 0)).toEqual([isAccepted, isAccepted]);
});

it('counts what a brownout refused in rows of its own, as calls that were refused and not served', () => {
  const collector = collectorOf({ maxClients: 1 });
  const [first, second] = [noon, noon + 1_800_000];
  const refused = { status: 410, problem: 'VERSION_RETIRED', served: false } as const;
  for (const brownout of [undefined, first, second, first])
    collector.count(exchange({ client: 'shop', ...(brownout === undefined ? {} : refused), brownout }));
  const rows = collector.take().map(({ brownout, requests, refused, failing, served, used }) => {
    return { brownout, requests, refused, failing, served, isUse: used > 0 };
  });
  expect(rows).toEqual([
    { brownout: undefined, requests: 1, refused: 0, failing: 0, served: 1, isUse: true },
    { brownout: first, requests: 2, refused: 2, failing: 0, served: 0, isUse: true },
    { brownout: second, requests: 1, refused: 1, failing: 0, served: 0, isUse: true },
  ]);
  // Above the limit of clients, it is counted with the other clients.
  collector.count(exchange({ client: 'another', ...refused, brownout: first }));
  expect(collector.take()).toMatchObject([{ client: 'other clients', brownout: first, refused: 1 }]);
});

it('counts requests, errors and served requests with their times', () => {
  const collector = collectorOf();
  collector.count(exchange({ client: 'shop', at: noon + 5 }));
  collector.count(exchange({ client: 'shop', at: noon + 1, resource: '/drinks/8', status: 503 }));
  collector.count(exchange({ client: 'shop', at: noon + 9, status: 410, served: false }));
  expect(collector.take()).toEqual([
    {
      version: 'v1',
      client: 'x-client-id:shop',
      route: 'GET /drinks/{}',
      hour: noon,
      requests: 3,
      errors: 2,
      served: 2,
      failing: 1,
      refused: 0,
      first: noon + 1,
      last: noon + 9,
      used: noon + 5,
      accepted: noon + 5,
      body: 0,
      target: 0,
      head: 0,
      example: '/drinks/7',
    },
  ]);
  expect(collector.take()).toEqual([]);
});

it.each([
  [200, undefined, [0, 0, noon]],
  [304, undefined, [0, 0, noon]],
  [404, undefined, [1, 0, 0]],
  [401, undefined, [1, 0, 0]],
  [413, 'BODY_TOO_LARGE', [1, 0, 0]],
  [410, 'VERSION_RETIRED', [0, 1, noon]],
  [404, 'UNKNOWN_VERSION', [0, 1, noon]],
  [403, 'VERSION_FROZEN', [0, 1, 0]],
  // A healthy backend would serve these clients.
  [500, undefined, [0, 0, noon]],
  [502, 'TARGET_REFUSED', [0, 0, noon]],
  [503, 'NO_HEALTHY_TARGET', [0, 0, noon]],
  [429, undefined, [0, 0, noon]],
  [499, undefined, [0, 0, noon]],
] as const)('counts a request answered %d %s as failing, refused or used', (status, problem, expected) => {
  const collector = collectorOf();
  collector.count(exchange({ status, problem }));
  expect(collector.take().map(({ failing, refused, used }) => [failing, refused, used])).toEqual([expected]);
});

it('matches a slow count of all requests, whenever the batches are taken', () => {
  const random = randomOf(7);
  const collector = collectorOf();
  const asked: { key: string; status: number; served: boolean }[] = [];
  const rows = [];
  for (let n = 0; n < 20_000; n++) {
    const [version, client, path] = [`v${random(3)}`, `c${random(40)}`, `/r${'abcde'[random(5)]}`];
    const [status, served, at] = [[200, 302, 404, 500][random(4)] as number, random(3) > 0, noon + n * 700];
    collector.count(exchange({ version, client, resource: path, status, served, at }));
    asked.push({ key: `${at - (at % hourMs)} ${version} x-client-id:${client} GET ${path}`, status, served });
    if (random(500) === 0) rows.push(...collector.take());
  }
  rows.push(...collector.take());
  const counted = addUp(rows, ({ hour, version, client, route }) => `${hour} ${version} ${client} ${route}`);
  const keys = [...new Set(asked.map(({ key }) => key))];
  expect([...counted.keys()].sort()).toEqual(keys.sort());
  for (const key of keys) {
    const mine = asked.filter((one) => one.key === key);
    expect(counted.get(key)).toMatchObject({
      requests: mine.length,
      errors: mine.filter(({ status }) => status >= 400).length,
      served: mine.filter(({ served }) => served).length,
    });
  }
});

it('starts new rows in each hour, also when the clock was set back', () => {
  const collector = collectorOf();
  for (const at of [noon, noon + hourMs, noon - hourMs]) collector.count(exchange({ at }));
  expect(collector.take().map(({ hour }) => hour)).toEqual([noon, noon + hourMs, noon - hourMs]);
});

describe('requests that began in an earlier hour', () => {
  it('are counted in it, and displace no regular client during a flood', () => {
    const collector = collectorOf({ maxClients: 200 });
    const regulars = Array.from({ length: 100 }, (_one, n) => `regular-${n}`);
    const callAll = (at: number): void => {
      for (const client of regulars) for (let n = 0; n < 3; n++) collector.count(exchange({ client, at }));
    };
    callAll(noon);
    collector.take();
    callAll(noon + hourMs);
    for (let n = 0; n < 2_000; n++) {
      collector.count(exchange({ client: `flood-${n}`, at: noon + hourMs + n }));
      if (n % 50 === 0)
        collector.count(exchange({ client: 'stream', resource: '/events', at: noon + (n % 3) - hourMs }));
    }
    callAll(noon + hourMs + 5_000);
    const rows = collector.take();
    expect(total(rows, 'requests')).toBe(300 + 2_000 + 40 + 300);
    const byClient = addUp(rows, ({ client, hour }) => `${client} ${hour - noon}`);
    for (const name of regulars) expect(byClient.get(`x-client-id:${name} ${hourMs}`)?.requests).toBe(6);
    const early = rows.filter(({ hour }) => hour !== noon + hourMs);
    expect(early.map(({ hour }) => hour - noon)).toEqual([-hourMs]);
    // Its first request came while the limit was reached.
    expect(total(early, 'requests')).toBe(40);
  });

  it('have one row per hour and route, in whatever order they arrive', () => {
    const collector = collectorOf();
    for (let n = 0; n < 60; n++) {
      const at = noon - (n % 3) * hourMs;
      collector.count(exchange({ client: 'a', resource: n % 2 === 0 ? '/a' : '/b', at }));
    }
    const rows = collector.take();
    expect(rows).toHaveLength(6);
    for (const { hour, requests, first } of rows) expect([requests, first]).toEqual([10, hour]);
  });

  it('are folded in their own hours when their client is replaced', () => {
    const collector = collectorOf({ maxClients: 1 });
    for (const at of [noon, noon - hourMs]) collector.count(exchange({ client: 'once', at }));
    for (let n = 0; n < 5; n++) collector.count(exchange({ client: 'often' }));
    const counted = collector.take().map(({ client, hour, requests }) => [client, (hour - noon) / hourMs, requests]);
    expect(counted.sort()).toEqual([
      ['other clients', -1, 1],
      ['other clients', 0, 3],
      ['x-client-id:often', 0, 3],
    ]);
  });

  it('without end mean that the clock was set back, and start a new hour', () => {
    const collector = collectorOf({ maxClients: 1 });
    for (let n = 0; n < 300; n++) collector.count(exchange({ client: 'before', at: noon + 24 * hourMs }));
    const clientAfter = (late: number): string[] => {
      for (let n = 0; n < late; n++) collector.count(exchange({ client: 'x', at: noon }));
      return [...new Set(collector.take().map(({ client }) => client))];
    };
    expect(clientAfter(50)).toEqual(['x-client-id:before', 'other clients']);
    expect(clientAfter(100_000)).toContain('x-client-id:x');
  });

  it('do not mean that if a request of the present hour came between them', () => {
    const collector = collectorOf({ maxClients: 1 });
    const present = noon + 24 * hourMs;
    for (let n = 0; n < 300; n++) collector.count(exchange({ client: 'before', at: present }));
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 60_000; n++) collector.count(exchange({ client: `once-${n}`, at: noon }));
      collector.count(exchange({ client: 'before', at: present }));
    }
    expect(new Set(collector.take().map(({ client }) => client))).toEqual(
      new Set(['x-client-id:before', 'other clients']),
    );
  });
});

describe('with more clients than the limit', () => {
  it('counts new clients together, and reports how many requests', () => {
    const collector = collectorOf({ maxClients: 2 });
    for (const client of ['a', 'b', 'c', 'd', 'a']) collector.count(exchange({ client }));
    const requests = Object.fromEntries(collector.take().map(({ client, requests }) => [client, requests]));
    expect(requests).toEqual({ 'x-client-id:a': 2, 'x-client-id:b': 1, 'other clients': 2 });
    expect(collector.folded).toBe(2);
  });

  it('does not track more clients because a batch was taken', () => {
    const collector = collectorOf({ maxClients: 2 });
    const clients = ['a', 'b', 'c', 'd'].flatMap((client) => {
      collector.count(exchange({ client }));
      return collector.take().map((row) => row.client);
    });
    expect(clients).toEqual(['x-client-id:a', 'x-client-id:b', 'other clients', 'other clients']);
  });

  it('applies the limit to each version separately', () => {
    const collector = collectorOf({ maxClients: 1 });
    for (const version of ['v1', 'v2']) collector.count(exchange({ version, client: version }));
    expect(collector.take().map(({ client }) => client)).toEqual(['x-client-id:v1', 'x-client-id:v2']);
  });

  it('keeps the clients with the most requests in the next hour', () => {
    const collector = collectorOf({ maxClients: 4 });
    const calls = ['once', 'twice', 'twice', 'often', 'often', 'often', 'thrice', 'thrice', 'thrice'];
    for (const client of calls) collector.count(exchange({ client }));
    const later = { at: noon + hourMs };
    for (const client of ['new', 'newer', 'newest', 'twice', 'thrice', 'often']) {
      collector.count(exchange({ ...later, client }));
    }
    const clients = collector.take().filter(({ hour }) => hour === later.at);
    expect(clients.map(({ client }) => client)).toEqual([
      'x-client-id:new',
      'x-client-id:newer',
      'other clients',
      'x-client-id:thrice',
      'x-client-id:often',
    ]);
  });
});

it('tracks a new regular client during a flood of clients with one request', () => {
  const maxClients = 500;
  const collector = collectorOf({ maxClients });
  const rows = [];
  for (let n = 0; n < 50_000; n++) {
    collector.count(exchange({ client: `flood-${n}` }));
    if (n % 1_000 === 999) collector.count(exchange({ client: 'newcomer', resource: '/drinks' }));
    if (n % 7_000 !== 0) continue;
    const batch = collector.take();
    expect(new Set(batch.map(({ client }) => client)).size).toBeLessThanOrEqual(maxClients + 1);
    expect(batch.length).toBeLessThanOrEqual(maxClients + 2);
    rows.push(...batch);
  }
  rows.push(...collector.take());
  expect(total(rows, 'requests')).toBe(50_050);
  const byClient = addUp(rows, ({ client }) => client);
  expect(byClient.get('x-client-id:newcomer')?.requests).toBeGreaterThan(40);
  expect(byClient.get('other clients')?.requests).toBe(collector.folded);
});

it('replaces a client with fewer requests, and folds its rows', () => {
  const collector = collectorOf({ maxClients: 2 });
  const calls = ['once', 'often', 'often', 'often', 'new', 'new', 'newer', 'newer', 'new'];
  for (const client of calls) collector.count(exchange({ client, status: client === 'once' ? 500 : 200 }));
  const counted = collector.take().map(({ client, requests, errors }) => [client, requests, errors]);
  // The first request of `new` came too early; `newer` has fewer requests than the others.
  expect(counted.sort()).toEqual([
    ['other clients', 4, 1],
    ['x-client-id:new', 2, 0],
    ['x-client-id:often', 3, 0],
  ]);
  expect(collector.folded).toBe(4);
});

it('applies smaller limits to an unlisted version, and forgets it after the hour', () => {
  const collector = collectorOf({ maxClients: 5_000, maxRoutes: 500 });
  const stray = { version: 'v0', unlisted: true, status: 404 };
  for (let n = 0; n < 3_000; n++) {
    const path = `/${String.fromCharCode(97 + (n % 26))}${String.fromCharCode(97 + (Math.floor(n / 26) % 26))}`;
    collector.count(exchange({ ...stray, client: `c${n}`, resource: path }));
  }
  const rows = collector.take();
  expect(total(rows, 'requests')).toBe(3_000);
  expect(new Set(rows.map(({ client }) => client)).size).toBe(1_001);
  expect(new Set(rows.map(({ route }) => route)).size).toBe(26);
  collector.count(exchange({ ...stray, client: 'c2999', at: noon + hourMs }));
  expect(collector.take().map(({ client }) => client)).toEqual(['x-client-id:c2999']);
});

it('names no client of further unlisted versions, but counts their calls', () => {
  const collector = collectorOf({});
  const call = (version: string, client: string) =>
    collector.count(exchange({ version, unlisted: true, status: 404, client }));
  for (let n = 100; n < 200; n++) call(`v${n}`, 'scanner');
  call('v9', 'app');
  call('v150', 'other');
  const rowsOf = (version: string) => collector.take().filter((row) => row.version === version);
  expect(rowsOf('v9').map(({ client, route, requests }) => [client, route, requests])).toEqual([
    ['other clients', 'other', 1],
  ]);
  call('v150', 'another');
  expect(rowsOf('v150').map(({ client }) => client)).toEqual(['x-client-id:another']);
});

it('names the clients of unlisted versions of one API while another one is scanned, up to its own limit', () => {
  const collector = collectorOf({});
  const call = (version: string, client: string, at = noon) =>
    collector.count(exchange({ version, unlisted: true, status: 404, client, at }));
  for (let n = 0; n < 200; n++) call(`shop/v${n}`, 'scanner');
  for (let n = 0; n < 100; n++) call(`orders/v${n}`, 'app');
  call('v9', 'app');
  call('orders/v100', 'app');
  const clients = (version: string) => rows.filter((row) => row.version === version).map(({ client }) => client);
  const rows = [...collector.take()];
  expect(['shop/v99', 'shop/v100', 'orders/v99', 'orders/v100', 'v9'].map(clients)).toEqual([
    ['x-client-id:scanner'],
    ['other clients'],
    ['x-client-id:app'],
    ['other clients'],
    ['x-client-id:app'],
  ]);
  call('orders/v100', 'app', noon + hourMs);
  expect(collector.take().map(({ client }) => client)).toEqual(['x-client-id:app']);
});

it('stays small under a flood of long and malformed user agents', () => {
  const collector = collectorOf({ maxClients: 500, maxRoutes: 20 });
  const random = randomOf(3);
  let requests = 0;
  for (let n = 0; n < 30_000; n++) {
    const agent = n % 100 === 0 ? `\u00ff\u0000${'z'.repeat(8_000)}${n}` : `agent${random(1e9)}/1 (\u009b${n})`;
    const path = `/${'abcdefghij'[random(10)]}/${'abcdefghij'[random(10)]}/${n}`;
    collector.count(exchange({ rawHeaders: ['User-Agent', agent], resource: path }));
    if (n % 1_000 !== 0) continue;
    const batch = collector.take();
    requests += total(batch, 'requests');
    expect(new Set(batch.map(({ route }) => route)).size).toBeLessThanOrEqual(21);
    for (const { client } of batch) expect(client).toMatch(/^[ -~]{1,75}$/);
  }
  const left = collector.take();
  expect(requests + total(left, 'requests')).toBe(30_000);
  expect(collector.folded).toBeGreaterThan(29_000);
});

it('folds routes when a batch is too large', () => {
  const collector = collectorOf({ maxClients: 1_000, maxRoutes: 1_000 });
  for (let client = 0; client < 400; client++) {
    for (let path = 0; path < 300; path++) {
      const letters = String.fromCharCode(97 + (path % 26), 97 + Math.floor(path / 26));
      collector.count(exchange({ client: `c${client}`, resource: `/${letters}` }));
    }
  }
  const batch = collector.take();
  expect(total(batch, 'requests')).toBe(120_000);
  expect(batch.length).toBeLessThanOrEqual(100_000 + 401);
});

it('applies new settings, and keeps the counts', () => {
  const collector = collectorOf();
  collector.count(exchange({ client: 'a' }));
  const byAddress: readonly Identifier[] = [{ by: 'address' }];
  const identification = new ClientIdentification(byAddress, 'salt');
  collector.configure({ identify: byAddress, maxClients: 10, maxRoutes: 10 }, identification);
  collector.count(exchange({ client: 'a' }));
  expect(collector.take().map(({ client }) => client)).toEqual(['x-client-id:a', 'address:192.0.2.0/24']);
});

describe('a request that is counted before its end', () => {
  const stream = exchange({ client: 'reader', resource: '/events', status: 0, served: false });
  const counted = (rows: UsageBatch) =>
    rows.map(({ hour, requests, errors, served, first, last }) => {
      return [(hour - noon) / hourMs, requests, errors, served, first - hour, last - hour];
    });

  it('has one request in its first hour, and a row without requests in each later one', () => {
    const collector = collectorOf();
    const open = collector.open(stream);
    collector.refresh(open, noon + 7, 200);
    expect(counted(collector.take())).toEqual([[0, 1, 0, 0, 0, 7]]);
    collector.refresh(open, noon + hourMs + 1, 200);
    collector.refresh(open, noon + hourMs + 2, 200);
    expect(counted(collector.take())).toEqual([[1, 0, 0, 0, 1, 2]]);
    collector.finish(open, { status: 500, served: true, bodySize: 0, endedAt: noon + 2 * hourMs + 3 });
    expect(counted(collector.take())).toEqual([
      [2, 0, 0, 0, 3, 3],
      [0, 0, 1, 1, 0, 0],
    ]);
  });

  it('counts as use once it is answered, unless it fails', () => {
    const collector = collectorOf();
    const outcome = () => collector.take().map(({ requests, failing, used }) => [requests, failing, used]);
    const slow = collector.open(stream);
    collector.refresh(slow, noon + 7, 0);
    expect(outcome()).toEqual([[1, 0, 0]]);
    collector.finish(slow, { status: 404, served: true, bodySize: 0, endedAt: noon + 9 });
    expect(outcome()).toEqual([[0, 1, 0]]);
    const events = collector.open({ ...stream, status: 200 });
    collector.refresh(events, noon + 20, 200);
    expect(outcome()).toEqual([[1, 0, noon + 20]]);
  });

  it('counts as use in a later hour while it waits for its answer', () => {
    const collector = collectorOf();
    const outcome = () => collector.take().map(({ hour, requests, failing, used }) => [hour, requests, failing, used]);
    const slow = collector.open(stream);
    const later = noon + hourMs + 7;
    collector.refresh(slow, later, 0);
    expect(outcome()).toEqual([
      [noon, 1, 0, 0],
      [noon + hourMs, 0, 0, later],
    ]);
    collector.finish(slow, { status: 404, served: true, bodySize: 0, endedAt: later + 1 });
    expect(outcome()).toEqual([
      [noon + hourMs, 0, 0, 0],
      [noon, 0, 1, 0],
    ]);
  });

  it('is counted once when later settings identify its client differently', () => {
    const collector = collectorOf();
    const open = collector.open(stream);
    collector.configure({ identify: [], maxClients: 10, maxRoutes: 10 }, new ClientIdentification([], 'other'));
    collector.finish(open, { status: 200, served: true, bodySize: 0, endedAt: noon + 1 });
    const rows = collector.take().map(({ client, requests, served }) => [client, requests, served]);
    expect(rows).toEqual([
      ['x-client-id:reader', 1, 0],
      ['unknown', 0, 1],
    ]);
  });

  it('keeps its client tracked during a flood', () => {
    const collector = collectorOf({ maxClients: 2 });
    for (const client of ['a', 'b']) for (let n = 0; n < 9; n++) collector.count(exchange({ client }));
    const open = collector.open(stream);
    expect(collector.folded).toBe(1);
    for (let n = 0; n < 20; n++) collector.refresh(open, noon + n, 200);
    expect(collector.take().map(({ client }) => client)).toContain('x-client-id:reader');
    for (let n = 0; n < 500; n++) collector.count(exchange({ client: `flood-${n}`, at: noon + hourMs }));
    collector.take();
    collector.refresh(open, noon + hourMs + 1, 200);
    expect(collector.take().map(({ client }) => client)).toEqual(['x-client-id:reader']);
  });

  it('is counted exactly, whatever happens at the same time', () => {
    const random = randomOf(11);
    const collector = collectorOf({ maxClients: 8 });
    const open: OpenRequest[] = [];
    const rows = [];
    const sums = { requests: 0, errors: 0, served: 0 };
    for (let n = 0; n < 20_000; n++) {
      const at = noon + n * 700;
      const [status, served] = [[200, 404, 500][random(3)] as number, random(3) > 0];
      const one = exchange({ client: `c${random(30)}`, resource: `/r${random(5)}`, at });
      const ended = random(3) === 0 ? open.splice(random(open.length), 1)[0] : undefined;
      if (ended) collector.finish(ended, { status, served, bodySize: 0, endedAt: at });
      else if (random(2) === 0) open.push(collector.open({ ...one, status: 0, served: false }));
      else collector.count({ ...one, status, served });
      sums.requests += ended ? 0 : 1;
      const known = ended !== undefined || open.at(-1)?.exchange.at !== at;
      sums.errors += known && status >= 400 ? 1 : 0;
      sums.served += known && served ? 1 : 0;
      for (const other of open.slice(0, 3)) collector.refresh(other, at, 200);
      if (random(500) === 0) rows.push(...collector.take());
    }
    rows.push(...collector.take());
    expect([total(rows, 'requests'), total(rows, 'errors'), total(rows, 'served')]).toEqual(Object.values(sums));
    for (const { hour, first, last } of rows) {
      expect(first).toBeGreaterThanOrEqual(hour);
      expect(last).toBeLessThan(hour + hourMs);
    }
  });
});
