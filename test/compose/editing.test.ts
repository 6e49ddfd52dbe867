import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { runIn } from '../cli/io.ts';
import { skipped, until, useStack } from './support/stack.ts';

/** As editors save a file: `text` is to be what `file` holds. */
const ways: Record<string, (file: string, text: string) => void | Promise<void>> = {
  'a rename over it': (file, text) => {
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  },
  'a write in place': (file, text) => writeFileSync(file, text),
  'a write in place, emptied first': async (file, text) => {
    truncateSync(file);
    await sleep(100);
    writeFileSync(file, text);
  },
  'the old one moved away as a backup': (file, text) => {
    renameSync(file, `${file}~`);
    writeFileSync(file, text);
    rmSync(`${file}~`);
  },
  'a swap file beside it, and a removal before the rename': (file, text) => {
    writeFileSync(`${file}.swp`, text);
    rmSync(file);
    renameSync(`${file}.swp`, file);
  },
  'sed -i': (file, text) => {
    const info = /^ {4}info: (\S+)/m.exec(text)?.[1];
    execFileSync('sed', ['-i', `s#^    info: .*#    info: ${info}#`, file]);
  },
};

describe.skipIf(skipped)('an edit on the host', () => {
  const { compose, url, routes, site } = useStack();
  let edits = 0;

  it.each(Object.entries(ways))('reaches the gateway within 2 s: %s', async (name, save) => {
    edits += 1;
    const info = `https://example.com/edit-${edits}`;
    const text = withInfo(readFileSync(routes, 'utf8'), info);
    const begun = Date.now();
    await save(routes, text);
    const told = async () => (await fetch(`${url}/v1/drinks/7`)).headers.get('link')?.includes(info) ?? false;
    await until(told, name, 30_000);
    const took = Date.now() - begun;
    console.log(`${name}: ${took} ms`);
    expect(took).toBeLessThan(2_000);
  });

  it('reaches the gateway through the link in the root, and after the repair of a link that sed -i has replaced', async () => {
    const link = join(site.folder, 'routes.yaml');
    const told = (info: string) => async () =>
      (await fetch(`${url}/v1/drinks/7`)).headers.get('link')?.includes(info) ?? false;
    const through = 'https://example.com/through-the-link';
    writeFileSync(link, withInfo(readFileSync(routes, 'utf8'), through));
    await until(told(through), 'an edit through the link', 2_000);
    const replaced = 'https://example.com/replaced-link';
    execFileSync('sed', ['-i', `s#^    info: .*#    info: ${replaced}#`, link]);
    // The container has the folder config/ only: it goes on with the file that is there.
    await sleep(2_500);
    expect(await told(through)()).toBe(true);
    const { stdout } = await runIn(site.folder, ['check']);
    const command = /Run: (.*)/.exec(stdout)?.[1] ?? 'no command';
    expect(command).toBe('mv routes.yaml config/routes.yaml && ln -s config/routes.yaml routes.yaml');
    execFileSync('sh', ['-c', command], { cwd: site.folder });
    await until(told(replaced), 'the edit, after the repair', 2_000);
    expect((await runIn(site.folder, ['check'])).stdout).not.toContain('This file has replaced the link');
  });

  it('that is wrong changes nothing, and is reported', async () => {
    const good = readFileSync(routes, 'utf8');
    writeFileSync(`${routes}.new`, good.replace('prefix: strip', 'prefix: stripp'));
    renameSync(`${routes}.new`, routes);
    await until(async () => (await compose.logs('gateway')).includes('stripp'), 'the fault in the log', 30_000);
    expect((await fetch(`${url}/v1/drinks/7`)).status).toBe(200);
    writeFileSync(routes, good);
  });

  it('of a contract reaches it, too', async () => {
    const contract = join(site.folder, 'services', 'v1', 'contract', 'openapi.yaml');
    const title = `title: Cocktails ${Date.now()}`;
    copyFileSync(contract, `${contract}.new`);
    writeFileSync(`${contract}.new`, readFileSync(contract, 'utf8').replace(/title: .*/, title));
    const begun = Date.now();
    renameSync(`${contract}.new`, contract);
    const published = async () => (await (await fetch(`${url}/contracts/v1.yaml`)).text()).includes(title);
    await until(published, 'the contract to be published', 30_000);
    expect(Date.now() - begun).toBeLessThan(2_000);
  });
});

function withInfo(text: string, info: string): string {
  const line = `    info: ${info}`;
  return /^ {4}info: /m.test(text)
    ? text.replace(/^ {4}info: .*/m, line)
    : text.replace(/^ {4}successor: /m, `${line}\n$&`);
}
