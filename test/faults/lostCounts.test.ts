import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { isSafeToStop } from './answeringPlaces.ts';
import { type CountedGateway, countedGateway } from './countedGateway.ts';

// Calls that a gateway has served and not counted. The version must not be retired because of that: real processes, real signals, a
// real disk.

/** `called`: no yes, and the reason names the calls that may be missing. Other versions may still be retired. */
async function expectNoYes(gateway: CountedGateway, called: string): Promise<void> {
  const { answer, reasons } = await gateway.verdict(called);
  expect(answer, JSON.stringify(reasons)).not.toBe('yes');
}

async function startCovered(settings?: Parameters<typeof countedGateway>[0]): Promise<CountedGateway> {
  const gateway = await countedGateway(settings);
  await gateway.start();
  expect((await gateway.verdict('v1')).answer).toBe('yes');
  return gateway;
}

describe('calls that were not counted', () => {
  it('one call, kill -9 within a second, restart', async () => {
    const gateway = await startCovered();
    expect(await gateway.call('v1')).toBe(200);
    await gateway.end('SIGKILL');
    await gateway.start();
    await expectNoYes(gateway, 'v1');
    expect(gateway.stderr()).toContain('Calls of /v1 may be missing: the gateway ended before it had counted them.');
  });

  it('one call of a version that routes.yaml does not list, kill -9, restart', async () => {
    const gateway = await startCovered();
    await gateway.call('v7');
    await gateway.end('SIGKILL');
    await gateway.start();
    expect(gateway.stderr()).toContain('Calls of /v7 may be missing: the gateway ended before it had counted them.');
    expect((await gateway.verdict('v1')).answer).toBe('yes');
  });

  it('kill -9 without a call keeps what is known', async () => {
    const gateway = await startCovered();
    await gateway.end('SIGKILL');
    await gateway.start();
    expect((await gateway.verdict('v1')).answer).toBe('yes');
    expect(gateway.stderr()).not.toContain('may be missing');
  });

  it("the ledger's disk full, v1 called, rows wait; kill -9; restart with space", async (context) => {
    const gateway = await startCovered();
    if (!gateway.hasOwnDisk) return context.skip('this user may not mount file systems');
    gateway.fillDisk();
    await gateway.call('v1');
    await eventually(async () => expect((await gateway.ledger()).heldRows).toBeGreaterThan(0));
    await expectNoYes(gateway, 'v1');
    await gateway.end('SIGKILL');
    gateway.freeDisk();
    await gateway.start();
    await expectNoYes(gateway, 'v1');
  });

  it('a full disk while v1 is called, SIGTERM, rows are lost, restart with space', async (context) => {
    const gateway = await startCovered();
    if (!gateway.hasOwnDisk) return context.skip('this user may not mount file systems');
    gateway.fillDisk();
    for (let count = 0; count < 300; count += 1) await gateway.call('v1');
    expect(await gateway.end('SIGTERM')).toBe(0);
    expect(gateway.stderr()).toMatch(/\d+ rows are lost/);
    gateway.freeDisk();
    await gateway.start();
    await expectNoYes(gateway, 'v1');
  });

  it('a request that waits for its response at the crash, of a client that also got a 404', async () => {
    const gateway = await startCovered();
    expect(await gateway.call('v1', 'missing')).toBe(404);
    void gateway.call('v1', 'wait');
    await eventually(() => expect(gateway.log.at(-1)?.path).toBe('wait'));
    await expectNoYes(gateway, 'v1');
    await gateway.end('SIGKILL');
    await gateway.start();
    await expectNoYes(gateway, 'v1');
    expect(await gateway.guardAccepts('v1')).toBe(false);
  });

  it('a call of an ignored client keeps what is known', async () => {
    const gateway = await startCovered({ ignored: ['probe'] });
    expect(await gateway.call('v1', 'x', 'probe')).toBe(200);
    await gateway.end('SIGKILL');
    await gateway.start();
    expect((await gateway.verdict('v1')).answer).toBe('yes');
    expect(gateway.stderr()).not.toContain('may be missing');
  });

  it('a call of an ignored client that begins to count just before the gateway is killed', async () => {
    const gateway = await startCovered({ ignored: ['probe'] });
    expect(await gateway.call('v1', 'x', 'probe')).toBe(200);
    expect(await gateway.ignore([])).toBe(true);
    await gateway.end('SIGKILL');
    await gateway.start();
    await expectNoYes(gateway, 'v1');
  });

  it('a call of an ignored client that begins to count, in workers that end before they confirm it', async () => {
    const gateway = await startCovered({ ignored: ['probe'], workers: 2 });
    for (let count = 0; count < 4; count += 1) expect(await gateway.call('v1', 'x', 'probe')).toBe(200);
    const pids = gateway.workerPids();
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    expect(await gateway.ignore([])).toBe(false);
    // The ledger has the new settings.
    await gateway.digest();
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    await eventually(() => {
      const left = gateway.workerPids();
      if (left.length < 2 || left.some((pid) => pids.includes(pid))) throw new Error('not replaced yet');
    });
    await expectNoYes(gateway, 'v1');
    // From now on, all calls are known.
    expect(await gateway.ignore(['other'])).toBe(true);
    await gateway.end('SIGTERM');
    await gateway.start();
    await expectNoYes(gateway, 'v1');
  });

  it('a client that begins to count costs nothing while no process was killed', async () => {
    const gateway = await startCovered({ ignored: ['probe'], workers: 2 });
    expect(await gateway.call('v1', 'x', 'probe')).toBe(200);
    expect(await gateway.ignore([])).toBe(true);
    await expectNoYes(gateway, 'v1');
    expect((await gateway.verdict('v2')).answer).toBe('yes');
    expect(await gateway.ignore(['probe'])).toBe(true);
    expect((await gateway.verdict('v1')).answer).toBe('yes');
  });

  it.each([1, 2])('a read-only disk while v1 is called, %i workers', async (workers) => {
    const gateway = await startCovered({ workers });
    if (!gateway.hasOwnDisk) return;
    await gateway.end('SIGTERM');
    await gateway.setReadOnly(true);
    await gateway.start();
    expect(gateway.stderr()).toMatch(
      /usage\.db\.calls cannot be written: the disk is read-only\. {2}Calls are marked in /,
    );
    expect(await gateway.call('v1')).toBe(200);
    await gateway.end('SIGKILL');
    await gateway.setReadOnly(false);
    await gateway.start();
    await expectNoYes(gateway, 'v1');
    expect((await gateway.verdict('v2')).answer).toBe('yes');
  });

  it('a clean end loses nothing', async () => {
    const gateway = await startCovered({ workers: 2 });
    await gateway.call('v2');
    await gateway.end('SIGTERM');
    await gateway.start();
    expect(gateway.stderr()).not.toContain('may be missing');
    expect((await gateway.verdict('v1')).answer).toBe('yes');
    await expectNoYes(gateway, 'v2');
    expect(await gateway.reload('v1')).toBe(true);
    expect(await isSafeToStop('v1', gateway)).toBe(true);
  });

  it('one call of v1, then both workers are killed', async () => {
    const gateway = await startCovered({ workers: 2 });
    expect(await gateway.call('v1')).toBe(200);
    for (const pid of gateway.workerPids()) process.kill(pid, 'SIGKILL');
    // While the workers end, and after they were replaced.
    await expectNoYes(gateway, 'v1');
    await gateway.killWorkers();
    await expectNoYes(gateway, 'v1');
    // The loss survives a clean restart.
    await gateway.end('SIGTERM');
    await gateway.start();
    await expectNoYes(gateway, 'v1');
  });

  it('a full disk at the first start, where no marks can be written', async (context) => {
    const gateway = await countedGateway();
    if (!gateway.hasOwnDisk) return context.skip('this user may not mount file systems');
    gateway.fillDisk();
    await gateway.start();
    expect(existsSync(`${gateway.store}.calls`)).toBe(false);
    expect(gateway.stderr()).toMatch(/usage\.db\.calls cannot be written: the disk is full\. {2}Calls are marked in /);
    gateway.freeDisk();
    await gateway.call('v1');
    await eventually(async () => expect((await gateway.ledger()).problem).toBeNull());
    await gateway.call('v1');
    await gateway.end('SIGKILL');
    await gateway.start();
    await expectNoYes(gateway, 'v1');
  });
});
