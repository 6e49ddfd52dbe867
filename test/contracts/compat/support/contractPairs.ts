import { readdirSync, readFileSync } from 'node:fs';

const folder = 'test/fixtures/compat';
const separator = '---expected---\n';

/** Two contracts and what the check reports. The name begins with the id of a rule: `param-removed.header`. */
export interface ContractPairFixture {
  readonly name: string;
  readonly old: string;
  readonly new: string;
  readonly expected: string;
}

/**
 * A fixture is a diff of the whole contract: `-` marks lines of the old one, `+` lines of the new one, a space lines of
 * both. The expected findings follow the separator.
 */
export function contractPairs(): ContractPairFixture[] {
  return readdirSync(folder)
    .sort()
    .map((file) => {
      const [diff = '', expected = ''] = readFileSync(`${folder}/${file}`, 'utf8').split(separator);
      return { name: file.replace(/\.diff$/, ''), old: side(diff, '-'), new: side(diff, '+'), expected };
    });
}

/** The fixture with other expected findings, as its file would hold it. */
export function withExpected(name: string, expected: string): string {
  const [diff] = readFileSync(pathOf(name), 'utf8').split(separator);
  return `${diff}${separator}${expected}`;
}

export function pathOf(name: string): string {
  return `${folder}/${name}.diff`;
}

function side(diff: string, mark: '-' | '+'): string {
  const lines = diff.split('\n').filter((line) => line.startsWith(mark) || line.startsWith(' '));
  return lines.map((line) => `${line.slice(1)}\n`).join('');
}
