import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type ComposeResult, compareWithCompose } from '../../../gateway/config/compose/compare.ts';
import { type Project, readProject } from '../../../gateway/config/compose/project.ts';
import { stageOf } from '../../../gateway/versions/lifecycle/stage.ts';
import { fixtureFolder, now, print } from '../fixtures.ts';
import { temporaryFolder } from '../temporary.ts';

/** A routes.yaml, the files beside it under lines such as `---docker-compose.yml---`, and the expected words. */
export interface Fixture {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly expected: string;
  /** Services that an engine would name, one a line. */
  readonly running: readonly string[] | undefined;
}

export function fixturesIn(folder: string): Fixture[] {
  return readdirSync(fixtureFolder(folder)).map((file) => {
    const parts = readFileSync(`${fixtureFolder(folder)}${file}`, 'utf8').split(/^---(\S+)---\n/m);
    const files: Record<string, string> = { 'routes.yaml': parts[0] ?? '' };
    for (let at = 1; at < parts.length; at += 2) files[parts[at] ?? ''] = parts[at + 1] ?? '';
    const { expected = '', running, ...others } = files;
    return { name: basename(file, '.yaml'), files: others, expected, running: running?.trim().split('\n') };
  });
}

export interface Given {
  readonly compose?: readonly string[];
  readonly env?: Record<string, string>;
  readonly service?: string;
  readonly running?: readonly string[];
}

/** Writes the files into a folder of their own, and compares them. */
export function compareFiles(
  files: Readonly<Record<string, string>>,
  given: Given = {},
): ComposeResult & { project: Project } {
  const folder = folderOf(files);
  const project = readProject(given.compose ?? ['docker-compose.yml'], given.env ?? {}, folder);
  const routes = {
    text: files['routes.yaml'] ?? '',
    file: 'routes.yaml',
    path: join(folder, 'routes.yaml'),
    now,
    isRetired: (version: Parameters<typeof stageOf>[0]) => stageOf(version, now) === 'retired',
  };
  return { ...compareWithCompose(routes, project, given.service, given.running && new Set(given.running)), project };
}

export function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** Faults first. Warnings and notes are marked as such. */
export function inWords({ result, notes }: ComposeResult): string {
  const marked = (mark: string, faults: ComposeResult['notes']) =>
    faults.map((one) => `${mark}: ${print([one])}`).join('');
  return print(result.faults) + marked('warning', result.warnings) + marked('note', notes);
}
