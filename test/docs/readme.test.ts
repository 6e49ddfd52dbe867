import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { parseConfig } from '../../gateway/config/load.ts';
import { readmeBlock } from '../support/readme.ts';

const scripts = (JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }).scripts;

it('README.md has at most 110 lines', () => {
  expect(readFileSync('README.md', 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(110);
});

it('README.md shows a valid routes.yaml', () => {
  const { faults, warnings } = parseConfig(readmeBlock('yaml', 'routes:'), 'routes.yaml', {
    clock: { now: () => Date.parse('2026-11-21') },
  });
  expect([faults, warnings]).toEqual([[], []]);
});

it('docs/commands.md names only scripts that exist', () => {
  const named = [...readFileSync('docs/commands.md', 'utf8').matchAll(/npm run ([\w:-]+)/g)].map(
    ([, name]) => name ?? '',
  );
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  expect([scripts['start'], scripts['test']]).not.toContain(undefined);
});

it.each(['README.md', 'CONTRIBUTING.md', 'ARCHITECTURE.md', ...pagesOf('docs'), ...pagesOf('docs/decisions')])(
  '%s links only to files and headings that exist',
  (page) => {
    const links = [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)];
    const broken = links
      .map(([, file = '', heading]) => ({ file: file === '' ? page : join(dirname(page), file), heading }))
      .filter(
        ({ file, heading }) => !existsSync(file) || (heading !== undefined && !headingsOf(file).includes(heading)),
      )
      .map(({ file, heading }) => `${file}#${heading ?? ''}`);
    expect(broken).toEqual([]);
  },
);

function pagesOf(folder: string): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.md'))
    .map((file) => join(folder, file));
}

/** The anchors of a page's headings, as GitHub makes them. */
function headingsOf(page: string): string[] {
  return [...readFileSync(page, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, text = '']) =>
    text
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}
