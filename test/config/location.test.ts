import { execFileSync, execSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { formatFault } from '../../gateway/config/fault.ts';
import { loadSnapshot } from '../../gateway/config/load.ts';
import { realPathOf, replacedLinkFault } from '../../gateway/config/location.ts';
import { digestOf } from '../../gateway/config/referencedFiles.ts';
import { WatchedFiles } from '../../gateway/config/watchedFiles.ts';
import { LoadThread } from '../../gateway/process/runtime/loadThread.ts';
import { runIn } from '../process/cli/io.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from './temporary.ts';

const text = `routes:
  /v1: { upstream: "http://127.0.0.1:1", contract: ../contracts/v1.yaml }
usage: { store: ../ledger/usage.db }
`;
const edited = text.replace('127.0.0.1:1', '127.0.0.1:2');

/** A project with routes.yaml in config/ and, unless `link` is false, the link to it in the root. */
function project(link = true): { folder: string; inFolder: (name: string) => string } {
  const folder = temporaryFolder();
  const inFolder = (name: string): string => join(folder, name);
  for (const name of ['config', 'contracts']) mkdirSync(inFolder(name));
  writeFileSync(inFolder('config/routes.yaml'), text);
  writeFileSync(inFolder('contracts/v1.yaml'), 'openapi: 3.1.0\ninfo: { title: t, version: "1" }\npaths: {}\n');
  if (link) symlinkSync('config/routes.yaml', inFolder('routes.yaml'));
  return { folder, inFolder };
}

/** Edits in the root that replace the link by a regular file. */
const replacements: Record<string, string> = {
  'sed -i': 'sed -i s/127.0.0.1:1/127.0.0.1:2/ routes.yaml',
  'perl -i': 'perl -i -pe s/127.0.0.1:1/127.0.0.1:2/ routes.yaml',
  mv: 'sed s/127.0.0.1:1/127.0.0.1:2/ routes.yaml > new.yaml && mv new.yaml routes.yaml',
};

const repair = 'mv routes.yaml config/routes.yaml && ln -s config/routes.yaml routes.yaml';

it('is tracked as a link in this repository', () => {
  const root = new URL('../..', import.meta.url).pathname;
  const entry = execFileSync('git', ['ls-files', '--stage', 'routes.yaml'], { cwd: root, encoding: 'utf8' });
  expect(entry).toMatch(/^120000 /);
  expect(realPathOf(join(root, 'routes.yaml'))).toBe(join(root, 'config/routes.yaml'));
});

describe('a link in the root', () => {
  it('gives the snapshot of its target', () => {
    const { inFolder } = project();
    const { usage, versions } = loadSnapshot(inFolder('routes.yaml'), {});
    expect(usage.store).toBe(inFolder('ledger/usage.db'));
    expect(versions.get('v1')?.contract?.file).toBe(inFolder('contracts/v1.yaml'));
  });

  it.each([true, false])('is used by commands without --config, which otherwise use config/: %s', async (link) => {
    const { folder } = project(link);
    const { code, stdout } = await runIn(folder, ['check']);
    expect([code, stdout.split('\n')[0]]).toEqual([0, `${link ? '' : 'config/'}routes.yaml is valid.`]);
  });

  it('may be a text file, as git writes it without support for links', async () => {
    const { folder, inFolder } = project();
    const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, stdio: 'pipe' });
    git('init', '--quiet');
    git('add', 'routes.yaml');
    git('config', 'core.symlinks', 'false');
    execSync('rm routes.yaml && git checkout --quiet -- routes.yaml', { cwd: folder });
    expect(lstatSync(inFolder('routes.yaml')).isSymbolicLink()).toBe(false);
    expect(readFileSync(inFolder('routes.yaml'), 'utf8')).toBe('config/routes.yaml');
    expect(await runIn(folder, ['check'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^routes\.yaml is valid\.$/m),
    });
  });

  it('is named in the error if its target is missing', async () => {
    const folder = temporaryFolder();
    symlinkSync('config/routes.yaml', join(folder, 'routes.yaml'));
    const { code, stderr } = await runIn(folder, ['check', '--config', 'routes.yaml']);
    expect([code, stderr]).toEqual([2, 'routes.yaml cannot be read: there is no such file\n']);
  });
});

it('does not report the links of a Kubernetes ConfigMap, whose target changes with each update', () => {
  const { inFolder } = project(false);
  mkdirSync(inFolder('config/..2026_11_22'));
  writeFileSync(inFolder('config/..2026_11_22/mounted.yaml'), text);
  symlinkSync('..2026_11_22', inFolder('config/..data'));
  symlinkSync('..data/mounted.yaml', inFolder('config/mounted.yaml'));
  expect(realPathOf(inFolder('config/mounted.yaml'))).toBe(inFolder('config/mounted.yaml'));
});

it('ends for circular links', () => {
  const folder = temporaryFolder();
  symlinkSync('b.yaml', join(folder, 'a.yaml'));
  symlinkSync('a.yaml', join(folder, 'b.yaml'));
  expect(realPathOf(join(folder, 'a.yaml'))).toBe(join(folder, 'a.yaml'));
});

describe.each(Object.entries(replacements))('a link that was replaced with %s', (_name, edit) => {
  it('is reported by check with the command that repairs it', async () => {
    const { folder, inFolder } = project();
    execSync(edit, { cwd: folder });
    expect(lstatSync(inFolder('routes.yaml')).isSymbolicLink()).toBe(false);
    const { code, stdout } = await runIn(folder, ['check']);
    // The contract is resolved from the wrong folder, which is a fault as well.
    expect(code).toBe(1);
    expect(stdout).toContain('routes.yaml  warning\n  This file has replaced the link to config/routes.yaml');
    expect(stdout).toContain(`Run: ${repair}\n`);
    const command = /Run: (.*)/.exec(stdout)?.[1] ?? '';
    execSync(command, { cwd: folder });
    expect(readFileSync(inFolder('config/routes.yaml'), 'utf8')).toBe(edited);
    expect(lstatSync(inFolder('routes.yaml')).isSymbolicLink()).toBe(true);
    expect(await runIn(folder, ['check'])).toMatchObject({ code: 0, stdout: expect.not.stringContaining('warning') });
  });

  it('does not change a running gateway until it is repaired', async () => {
    const { folder, inFolder } = project();
    const path = inFolder('routes.yaml');
    const snapshot = loadSnapshot(path, {});
    const options = { file: 'routes.yaml', path, cwd: folder, env: {} };
    const thread = new LoadThread(options, { snapshot, digest: digestOf(text) });
    const outcomes: string[] = [];
    const load = async (content?: Uint8Array): Promise<void> => {
      const loaded = await thread.load(content);
      try {
        outcomes.push(loaded.snapshot().versions.get('v1')?.targets[0]?.url ?? '');
      } catch (error) {
        outcomes.push(String(error));
      }
    };
    const watched = new WatchedFiles((content) => void load(content), {
      lastReadDigest: () => thread.lastReadDigest,
      isRejected: () => false,
    });
    onTestFinished(async () => {
      watched.close();
      await thread.close();
    });
    watched.setFiles(path, snapshot);
    execSync(edit, { cwd: folder });
    await eventually(() => expect(outcomes).toEqual([expect.stringContaining(repair)]));
    execSync(repair, { cwd: folder });
    await eventually(() => expect(outcomes[1]).toBe('http://127.0.0.1:2'));
    // The folder of the file is watched again.
    writeFileSync(inFolder('config/routes.yaml'), text);
    await eventually(() => expect(outcomes[2]).toBe('http://127.0.0.1:1'));
    expect(outcomes).toHaveLength(3);
  });
});

describe('the report of a replaced link', () => {
  it.each([['status', '--admin', '127.0.0.1:1'], ['start']])('is printed by %s', async (...args) => {
    const { folder } = project();
    execSync('sed -i s/x/y/ routes.yaml', { cwd: folder });
    const { stderr } = await runIn(folder, args);
    expect(stderr).toContain(`warning: routes.yaml\n  This file has replaced the link`);
    expect(stderr).toContain(repair);
  });

  it('reports that both files were edited', () => {
    const { folder, inFolder } = project();
    execSync('sed -i s/x/y/ routes.yaml', { cwd: folder });
    const later = new Date(Date.now() + 60_000);
    utimesSync(inFolder('config/routes.yaml'), later, later);
    const fault = replacedLinkFault('routes.yaml', inFolder('routes.yaml'));
    expect(fault && formatFault(fault)).toContain(
      `config/routes.yaml was edited later: copy the edits that you want to keep into routes.yaml, and then run: ${repair}`,
    );
  });

  it.each([
    ['config/routes.yaml', 'config/routes.yaml', 'routes.yaml'],
    ['routes.yaml', 'config/routes.yaml', '../routes.yaml'],
    ['some where/routes.yaml', 'routes.yaml', "'some where/routes.yaml'"],
  ])('names the files like the command line: %s', (file, at, link) => {
    const { folder, inFolder } = project();
    execSync('sed -i s/x/y/ routes.yaml', { cwd: folder });
    expect(replacedLinkFault(file, inFolder(at))?.remedy).toContain(`Run: mv ${link} `);
  });

  it('does not exist for a file without config/routes.yaml beside it', () => {
    const { folder, inFolder } = project(false);
    expect(replacedLinkFault('config/routes.yaml', inFolder('config/routes.yaml'))).toBeUndefined();
    writeFileSync(join(folder, 'other.yaml'), text);
    expect(replacedLinkFault('other.yaml', inFolder('other.yaml'))).toBeUndefined();
  });
});
