import { once } from 'node:events';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { TargetHealth } from '../../gateway/proxy/upstream/health.ts';
import { Target } from '../../gateway/proxy/upstream/target.ts';
import { answer, startBackend } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { freeUrl, refusedUrl, startTestGateway } from '../support/gateway.ts';
import { expectProblem } from '../support/problem.ts';
import { run } from '../support/process.ts';
import { ask, connectTo, get, post } from '../support/rawClient.ts';

const long = '1h';

/** A backend in a process of its own, for SIGKILL. */
async function startProcess(port = 0) {
  const code = `
    const server = require('node:http').createServer((req, res) => res.end('ok'));
    server.listen(${port}, '127.0.0.1', () => console.log('listening on ' + server.address().port));`;
  const { child, printed } = run(process.execPath, ['-e', code]);
  const [, listening] = await printed(/listening on (\d+)/);
  const kill = async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  return { port: Number(listening), url: `http://127.0.0.1:${listening}`, kill };
}

/** Returns the targets of the gateway that is started next, by URL. */
function watchTargets(): (url: string) => Target {
  const engaged = vi.spyOn(Target.prototype, 'activate');
  onTestFinished(() => engaged.mockRestore());
  return (url) => {
    for (const one of engaged.mock.contexts) if (one instanceof Target && one.url === url) return one;
    throw new Error(`no target ${url}`);
  };
}

async function statusesOf(port: number, count: number, request = get('/v1/x')): Promise<number[]> {
  const statuses: number[] = [];
  for (let time = 0; time < count; time += 1) statuses.push((await ask(port, request)).status);
  return statuses;
}

describe('one of two targets, once it is killed', () => {
  it('fails no GET on 32 connections, is ejected, and is used again after its restart', async () => {
    const [killed, other] = [await startProcess(), await startProcess()];
    const targetAt = watchTargets();
    const gateway = await startTestGateway({
      '/v1': { upstream: [killed.url, other.url], health: { eject: '300ms' } },
    });
    const target = targetAt(killed.url);
    const bad: number[] = [];
    let served = 0;
    let over = false;
    const clients = await Promise.all(Array.from({ length: 32 }, () => connectTo(gateway.port)));
    const load = Promise.all(
      clients.map(async (client) => {
        while (!over) {
          client.send(get('/v1/x'));
          const { status } = await client.response();
          served += 1;
          if (status !== 200) bad.push(status);
        }
      }),
    );
    const more = async (count: number) => {
      const before = served;
      await eventually(() => expect(served).toBeGreaterThan(before + count));
    };
    await more(1_000);
    await killed.kill();
    await eventually(() => expect(target.report()).toMatchObject({ health: 'ejected', reachable: false }));
    await more(1_000);
    await startProcess(killed.port);
    await eventually(() => expect(target.report()).toMatchObject({ health: 'healthy', reachable: true }));
    await more(100);
    over = true;
    await load;
    expect(bad).toEqual([]);
    expect(target.health.awaitsSuccess).toBe(false);
  }, 30_000);

  it('gets at most two requests before it is ejected', async () => {
    const [killed, other] = [await startProcess(), await startProcess()];
    const targetAt = watchTargets();
    const failed = vi.spyOn(TargetHealth.prototype, 'failed');
    onTestFinished(() => failed.mockRestore());
    const gateway = await startTestGateway({
      '/v1': { upstream: [killed.url, other.url], health: { eject: long } },
    });
    expect(new Set(await statusesOf(gateway.port, 4))).toEqual(new Set([200]));
    await killed.kill();
    expect(new Set(await statusesOf(gateway.port, 20))).toEqual(new Set([200]));
    expect(failed).toHaveBeenCalledTimes(2);
    expect(targetAt(killed.url).report().health).toBe('ejected');
  });

  it('is used again after the next successful probe', async () => {
    const [killed, other] = [await startProcess(), await startProcess()];
    const targetAt = watchTargets();
    const gateway = await startTestGateway({
      '/v1': { upstream: [killed.url, other.url], health: { eject: long, path: '/', interval: '50ms' } },
    });
    await killed.kill();
    await statusesOf(gateway.port, 6);
    expect(targetAt(killed.url).report().health).not.toBe('healthy');
    await startProcess(killed.port);
    await eventually(() => expect(targetAt(killed.url).report().health).toBe('healthy'));
  });
});

describe('a target', () => {
  it('that accepts connections and never answers is ejected after two 504s', async () => {
    const [silent, other] = [await startBackend([]), await startBackend()];
    const gateway = await startTestGateway({
      '/v1': {
        upstream: [silent.url, other.url],
        // On a busy machine the other target takes longer than 100 ms.
        timeouts: { first_byte: '2s' },
        health: { passive_failures: 2, eject: long },
      },
    });
    const statuses = await statusesOf(gateway.port, 12);
    expect(statuses.filter((status) => status === 504)).toHaveLength(2);
    expect(statuses.slice(4)).toEqual(Array.from({ length: 8 }, () => 200));
    expect(silent.requests).toHaveLength(2);
  });

  it('is not ejected for clients that disconnect', async () => {
    const [silent, other] = [await startBackend([]), await startBackend()];
    const gateway = await startTestGateway({
      '/v1': { upstream: [silent.url, other.url], health: { passive_failures: 1, eject: long } },
    });
    const targetAt = async (count: number) => {
      const client = await connectTo(gateway.port);
      client.send(get('/v1/x'));
      await eventually(() => expect(silent.requests).toHaveLength(count));
      client.socket.destroy();
      await eventually(() => expect(silent.connections.at(-1)?.closed).not.toBe('open'));
      expect((await ask(gateway.port, get('/v1/x'))).status).toBe(200);
    };
    await targetAt(1);
    await targetAt(2);
    await targetAt(3);
    expect(other.requests).toHaveLength(3);
  });

  it('is not ejected for clients that stop in the middle of a body', async () => {
    const [first, second] = [await startBackend(), await startBackend()];
    const gateway = await startTestGateway(
      { '/v1': { upstream: [first.url, second.url], health: { passive_failures: 1, eject: long } } },
      { gateway: { timeouts: { body_idle: '100ms' } } },
    );
    const slow = 'POST /v1/x HTTP/1.1\r\nHost: api.test\r\nContent-Length: 5\r\n\r\nhe';
    expect((await ask(gateway.port, slow)).status).toBe(408);
    await statusesOf(gateway.port, 4);
    expect([first.requests.length, second.requests.length]).toEqual([2, 2]);
  });

  it('is not ejected for its statuses', async () => {
    const [failing, other] = [await startBackend(answer(503, 'no')), await startBackend()];
    const gateway = await startTestGateway({
      '/v1': { upstream: [failing.url, other.url], health: { passive_failures: 1, eject: long } },
    });
    await statusesOf(gateway.port, 8);
    expect([failing.requests.length, other.requests.length]).toEqual([4, 4]);
  });

  it('is never ejected if it is the only one, and is used as soon as it listens', async () => {
    const url = await freeUrl();
    const gateway = await startTestGateway({ '/v1': { upstream: url, health: { passive_failures: 1, eject: long } } });
    expect(new Set(await statusesOf(gateway.port, 5))).toEqual(new Set([502]));
    await startProcess(Number(new URL(url).port));
    expect(await statusesOf(gateway.port, 1)).toEqual([200]);
  });

  it('is not ejected for an idle connection that it closed', async () => {
    const targetAt = watchTargets();
    const cresetting = await startBackend(({ index }) => (index === 0 ? answer(200, 'ok') : [{ reset: true }]));
    const other = await startBackend();
    const gateway = await startTestGateway({
      '/v1': { upstream: [cresetting.url, other.url], health: { passive_failures: 1, eject: long } },
    });
    const client = await connectTo(gateway.port);
    for (let time = 0; time < 6; time += 1) {
      client.send(get('/v1/x'));
      expect((await client.response()).status).toBe(200);
    }
    expect(targetAt(cresetting.url).report().health).toBe('healthy');
  });
});

describe('without an available target', () => {
  it.each(['try', 'refuse'])('a request fails at once: %s', async (on_none_healthy) => {
    const upstream = [await refusedUrl(), await refusedUrl()];
    const gateway = await startTestGateway({ '/v1': { upstream, health: { on_none_healthy, eject: long } } });
    for (let time = 0; time < 8; time += 1) expectProblem(await ask(gateway.port, get('/v1/x')), 502);
    expectProblem(await ask(gateway.port, post('/v1/x', 'hello')), 502);
  });

  it.each([
    ['try', 502],
    ['refuse', 503],
  ])('that passes its probes, on_none_healthy: %s answers %i', async (on_none_healthy, expected) => {
    const targetAt = watchTargets();
    const upstream = [await refusedUrl(), await refusedUrl()];
    const health = { on_none_healthy, path: '/', interval: '30ms', timeout: '1s', unhealthy_after: 1 };
    const gateway = await startTestGateway({ '/v1': { upstream, health } });
    await eventually(() =>
      expect(upstream.map((url) => targetAt(url).report().health)).toEqual(['failing', 'failing']),
    );
    expectProblem(await ask(gateway.port, get('/v1/x')), expected);
  });
});

it.each(['try', 'refuse'])(
  'an ejected target is used while the other one fails its probes: %s',
  async (on_none_healthy) => {
    const targetAt = watchTargets();
    const failing = await startBackend(answer(500, 'failing'));
    let resets = true;
    const passing = await startBackend(({ method }) =>
      method === 'POST' && resets ? [{ reset: true }] : answer(200, 'passing'),
    );
    const health = { on_none_healthy, path: '/', unhealthy_after: 1, passive_failures: 1, eject: long };
    const gateway = await startTestGateway({ '/v1': { upstream: [failing.url, passing.url], health } });
    await eventually(() => expect(targetAt(failing.url).report().failsProbes).toBe(true));
    expectProblem(await ask(gateway.port, post('/v1/x', 'hello')), 502);
    expect(targetAt(passing.url).report().health).toBe('ejected');
    resets = false;
    expect((await ask(gateway.port, post('/v1/x', 'hello'))).body).toBe('passing');
    expect(targetAt(passing.url).report().health).toBe('healthy');
  },
);

describe('a request whose target resets the connection', () => {
  async function startResetting() {
    const [resetting, other] = [await startBackend([{ reset: true }]), await startBackend()];
    const gateway = await startTestGateway({
      '/v1': { upstream: [resetting.url, other.url], health: { passive_failures: 1000 } },
    });
    return { resetting, other, port: gateway.port };
  }

  it.each(['GET', 'OPTIONS'])('is sent to the other target: %s', async (method) => {
    const { resetting, other, port } = await startResetting();
    expect(await statusesOf(port, 4, `${method} /v1/x HTTP/1.1\r\nHost: api.test\r\n\r\n`)).toEqual([
      200, 200, 200, 200,
    ]);
    expect([resetting.requests.length, other.requests.length]).toEqual([2, 4]);
  });

  it.each(['POST', 'PATCH', 'PUT', 'DELETE'])('is never sent again: %s, with a body or without', async (method) => {
    const { resetting, other, port } = await startResetting();
    const head = `${method} /v1/x HTTP/1.1\r\nHost: api.test\r\nContent-Length:`;
    expect((await statusesOf(port, 4, `${head} 0\r\n\r\n`)).sort()).toEqual([200, 200, 502, 502]);
    expect((await statusesOf(port, 4, `${head} 5\r\n\r\nhello`)).sort()).toEqual([200, 200, 502, 502]);
    expect([resetting.requests.length, other.requests.length]).toEqual([4, 4]);
  });

  it('is not sent to an ejected target', async () => {
    const [resetting, other] = [await startBackend([{ reset: true }]), await refusedUrl()];
    const gateway = await startTestGateway({
      '/v1': { upstream: [resetting.url, other], health: { passive_failures: 1000, eject: long } },
    });
    await statusesOf(gateway.port, 6);
    const before = resetting.requests.length;
    expect(await statusesOf(gateway.port, 3)).toEqual([502, 502, 502]);
    expect(resetting.requests.length).toBe(before + 3);
  });

  it('is answered 502 at once when the retry budget is spent', async () => {
    const [resetting, other] = [await startBackend([{ reset: true }]), await startBackend()];
    const gateway = await startTestGateway({
      '/v1': {
        upstream: [resetting.url, other.url],
        health: { passive_failures: 1000 },
        retries: { budget: '10%', budget_min: '0/s' },
      },
    });
    // The last reset request is the 39th; 10% of 39 allows 3 retries.
    const statuses = await statusesOf(gateway.port, 40);
    expect(statuses.filter((status) => status === 502)).toHaveLength(17);
    expect([resetting.requests.length, other.requests.length]).toEqual([20, 23]);
  });
});
