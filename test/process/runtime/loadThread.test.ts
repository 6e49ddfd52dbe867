import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ConfigError } from '../../../gateway/config/fault.ts';
import { loadSnapshot } from '../../../gateway/config/load.ts';
import { type LoadLimits, LoadThread } from '../../../gateway/process/runtime/loadThread.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { deepRef, deepSchemas } from '../../contract/schema/deepSchemas.ts';

const routes = (more = '') => `
routes:
  /v1: { upstream: "http://127.0.0.1:1", contract: v1.yaml${more} }
  /v2: { upstream: "http://127.0.0.1:2", contract: v2.yaml }
`;

/** An OpenAPI document of about `paths` lines. */
function contract(paths: number, name = 'things'): string {
  const rows = Array.from({ length: paths }, (_one, index) => `  /${name}${index}/{id}: { get: { responses: {} } }\n`);
  return `openapi: 3.1.0\ninfo: { title: t, version: "1" }\npaths:\n${rows.join('')}`;
}

function project(limits: Partial<LoadLimits> = {}) {
  const folder = temporaryFolder();
  const path = join(folder, 'routes.yaml');
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  write('routes.yaml', routes());
  write('v1.yaml', contract(2));
  write('v2.yaml', contract(3));
  const before = loadSnapshot(path, {});
  const options = { file: 'routes.yaml', path, cwd: folder, env: {}, overrides: {} };
  const thread = new LoadThread(options, { snapshot: before, digest: undefined }, limits);
  onTestFinished(() => thread.close());
  return { thread, before, write, inFolder: (name: string) => join(folder, name) };
}

describe('a load in a thread', () => {
  it('does not block the event loop while a contract is parsed', async () => {
    const { thread, write } = project();
    await thread.load();
    write('v1.yaml', contract(5_000));
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns += 1;
      // Not at once: a loop without pauses would take as much CPU time as the thread.
      if (!isOver) setTimeout(turn, 1);
    };
    turn();
    const { parsed, snapshot } = await thread.load();
    isOver = true;
    expect(parsed.length).toBe(1);
    expect(snapshot().versions.get('v1')?.contract?.paths.size).toBe(5_000);
    // If this thread parsed the contract, that would be one turn.
    expect(turns).toBeGreaterThan(10);
  });

  it('has the same result as a load in this thread', async () => {
    const { thread, before } = project();
    // The thread knows the file by the name that the operator gave it.
    const written = { ...before.written, file: 'routes.yaml' };
    expect((await thread.load()).snapshot()).toEqual({ ...before, written });
  });

  it('refuses nested schemas that a start would refuse', async () => {
    const { thread, write } = project();
    const deep = (title: string): string => {
      const content = { 'application/json': { schema: deepRef } };
      const paths = { '/a': { get: { responses: { 200: { description: '', content } } } } };
      const components = { schemas: deepSchemas({ steps: 3_500 }) };
      return JSON.stringify({ openapi: '3.1.0', info: { title, version: '1' }, paths, components });
    };
    write('v1.yaml', deep('one'));
    write('v2.yaml', deep('two'));
    write('routes.yaml', routes(', adapter: { from: /v2, routes: { GET /a: { to: GET /a, response: { 200: [] } } } }'));
    const { snapshot } = await thread.load();
    expect(snapshot).toThrow('has schemas that are nested too deeply');
  });

  it('parses no contract for an edit of routes.yaml, and keeps their tables', async () => {
    const { thread, before, write } = project();
    for (const more of [', prefix: forward', ', deprecation: 2026-01-01']) {
      write('routes.yaml', routes(more));
      const { parsed, snapshot } = await thread.load();
      expect(parsed).toEqual([]);
      for (const name of ['v1', 'v2']) {
        expect(snapshot().versions.get(name)?.contract?.paths).toBe(before.versions.get(name)?.contract?.paths);
      }
    }
  });

  it('parses a contract that has changed, once, and no other', async () => {
    const { thread, write, inFolder } = project();
    write('v2.yaml', contract(7));
    expect((await thread.load()).parsed).toEqual([inFolder('v2.yaml')]);
    expect((await thread.load()).parsed).toEqual([]);
  });

  it('parses no unchanged contract after an idle thread has ended', async () => {
    const { thread, write } = project({ idleMs: 1 });
    write('v2.yaml', contract(7));
    const ended = new Promise((resolve) => process.once('worker', (worker) => worker.once('exit', resolve)));
    expect((await thread.load()).parsed.length).toBe(1);
    await ended;
    const { parsed, snapshot } = await thread.load();
    expect([parsed, snapshot().versions.get('v2')?.contract?.paths.size]).toEqual([[], 7]);
  });

  it('loads a text instead of the file', async () => {
    const { thread } = project();
    const { snapshot } = await thread.load(routes(', info: "https://a.test/"'), { isPreview: true });
    expect(snapshot().versions.get('v1')?.info).toBe('https://a.test/');
    expect((await thread.load()).snapshot().versions.get('v1')?.info).toBeUndefined();
  });

  it('has the faults of the file', async () => {
    const { thread, write } = project();
    write('routes.yaml', 'routes: { /v1: nowhere }');
    const { snapshot } = await thread.load();
    expect(snapshot).toThrow(ConfigError);
    expect(snapshot).toThrow(/^routes.yaml:1:16 {2}routes\.\/v1/);
  });

  it('reports why there is no file', async () => {
    const { thread, inFolder } = project();
    const { rmSync } = await import('node:fs');
    rmSync(inFolder('routes.yaml'));
    const { snapshot } = await thread.load();
    expect(snapshot).toThrow(/^routes\.yaml cannot be read: there is no such file\.$/);
    expect(thread.lastReadDigest).toBeUndefined();
  });
});

describe('a hostile contract', () => {
  const bomb = Array.from({ length: 30 }, (_one, level) =>
    level === 0
      ? 'x0: &x0 [a, a, a, a, a, a, a, a, a]'
      : `x${level}: &x${level} [${Array(9)
          .fill(`*x${level - 1}`)
          .join(', ')}]`,
  );

  it.each([
    ['an alias bomb', `openapi: 3.1.0\n${bomb.join('\n')}\npaths: {}\n`],
    ['deep nesting', `openapi: 3.1.0\nx: ${'['.repeat(100_000)}`],
  ])('with %s is a fault', async (_name, text) => {
    const { thread, write } = project();
    write('v1.yaml', text);
    expect((await thread.load()).snapshot).toThrow(
      /v1\.yaml (?:has aliases that unfold|is nested too deeply|is not YAML)/,
    );
  });

  it.each<[string, number, Partial<LoadLimits>, RegExp]>([
    ['time', 600_000, { timeoutMs: 3000 }, /v1\.yaml takes longer than 3 s to parse\. {2}Split it/],
    [
      'memory',
      200_000,
      { heapMiB: 64, timeoutMs: 500_000 },
      /v1\.yaml takes more than 64 MiB of memory to parse\. {2}Split it/,
    ],
  ])(
    'that takes too much %s is abandoned, and the next load succeeds',
    async (_name, paths, limits, message) => {
      const { thread, write } = project(limits);
      write('v1.yaml', contract(paths));
      await expect(thread.load()).rejects.toThrow(message);
      write('v1.yaml', contract(2));
      expect((await thread.load()).snapshot().versions.get('v1')?.contract?.paths.size).toBe(2);
    },
    600_000,
  );
});
