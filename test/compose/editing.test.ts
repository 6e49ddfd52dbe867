import { execFileSync } from 'node:child_process';
import { lstatSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { runIn } from '../process/cli/io.ts';
import { skipped, useStack, waitUntil } from './support/stack.ts';

/** The ways in which editors and commands save `text` to `file`. */
const saves: Record<string, (file: string, text: string) => void | Promise<void>> = {
  'a rename over the file': (file, text) => {
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  },
  'a write in place': (file, text) => writeFileSync(file, text),
  'a write in place 100 ms after a truncation': async (file, text) => {
    truncateSync(file);
    await sleep(100);
    writeFileSync(file, text);
  },
  'a new file after the old one is moved to a backup': (file, text) => {
    renameSync(file, `${file}~`);
    writeFileSync(file, text);
    rmSync(`${file}~`);
  },
  'a swap file that is renamed after the file is removed': (file, text) => {
    writeFileSync(`${file}.swp`, text);
    rmSync(file);
    renameSync(`${file}.swp`, file);
  },
  'sed -i': (file, text) => void execFileSync('sed', ['-i', substitutionOf(text), file]),
  'perl -i': (file, text) => void execFileSync('perl', ['-i', '-pe', substitutionOf(text), file]),
  mv: (file, text) => {
    writeFileSync(`${file}.new`, text);
    execFileSync('mv', [`${file}.new`, file]);
  },
};

describe.skipIf(skipped)('an edit on the host', () => {
  const { compose, url, routes, project } = useStack();
  const link = join(project.folder, 'routes.yaml');
  let edits = 0;

  /** The text of routes.yaml with another info link, and a check whether the gateway sends that link. */
  const nextEdit = () => {
    edits += 1;
    const info = `https://example.com/edit-${edits}`;
    const isServed = async (): Promise<boolean> =>
      (await fetch(`${url}/v1/drinks/7`)).headers.get('link')?.includes(info) ?? false;
    return { text: withInfo(readFileSync(routes, 'utf8'), info), isServed };
  };

  /** Changes the title of the contract of v1. Returns a check whether the gateway publishes it. */
  const editContract = () => {
    const contract = join(project.folder, 'services', 'v1', 'contract', 'openapi.yaml');
    edits += 1;
    const title = `title: Cocktails ${edits}`;
    writeFileSync(`${contract}.new`, readFileSync(contract, 'utf8').replace(/title: .*/, title));
    renameSync(`${contract}.new`, contract);
    return async (): Promise<boolean> => (await (await fetch(`${url}/contracts/v1.yaml`)).text()).includes(title);
  };

  it.each(Object.entries(saves))('reaches the gateway: %s', async (name, save) => {
    const { text, isServed } = nextEdit();
    const savedAt = Date.now();
    await save(routes, text);
    await waitUntil(isServed, name);
    console.log(`${name}: ${Date.now() - savedAt} ms`);
  });

  it('reaches the gateway through the link in the root', async () => {
    const { text, isServed } = nextEdit();
    writeFileSync(link, text);
    await waitUntil(isServed, 'the edit');
  });

  it.each(['sed -i', 'perl -i', 'mv'])(
    'reaches the gateway after the repair of the link that %s replaces',
    async (name) => {
      const replacing = nextEdit();
      await saves[name]?.(link, replacing.text);
      expect(lstatSync(link).isSymbolicLink()).toBe(false);
      // The container mounts only folders, not the file in the root: a later edit of a contract is served, this one is not.
      await waitUntil(editContract(), 'the edited contract');
      expect(await replacing.isServed()).toBe(false);

      const { stdout } = await runIn(project.folder, ['check']);
      const command = /Run: (.*)/.exec(stdout)?.[1] ?? 'no command';
      expect(command).toBe('mv routes.yaml config/routes.yaml && ln -s config/routes.yaml routes.yaml');
      execFileSync('sh', ['-c', command], { cwd: project.folder });
      await waitUntil(replacing.isServed, 'the edit that replaced the link');
      expect((await runIn(project.folder, ['check'])).stdout).not.toContain('This file has replaced the link');
    },
  );

  it('with a fault is logged and has no effect', async () => {
    const valid = readFileSync(routes, 'utf8');
    writeFileSync(`${routes}.new`, valid.replace('prefix: strip', 'prefix: stripp'));
    renameSync(`${routes}.new`, routes);
    await waitUntil(async () => (await compose.logs('gateway')).includes('stripp'), 'the fault in the log');
    expect((await fetch(`${url}/v1/drinks/7`)).status).toBe(200);
    writeFileSync(routes, valid);
  });

  it('of a contract reaches the gateway', async () => {
    await waitUntil(editContract(), 'the edited contract');
  });
});

/** An expression for sed and perl that gives a file the info link of `text`. */
function substitutionOf(text: string): string {
  const info = /^ {4}info: (\S+)/m.exec(text)?.[1];
  return `s#^    info: .*#    info: ${info}#`;
}

function withInfo(text: string, info: string): string {
  const line = `    info: ${info}`;
  return /^ {4}info: /m.test(text)
    ? text.replace(/^ {4}info: .*/m, line)
    : text.replace(/^ {4}successor: /m, `${line}\n$&`);
}
