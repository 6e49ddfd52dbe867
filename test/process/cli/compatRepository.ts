import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';
import { run } from '../../../gateway/process/cli/run.ts';
import { temporaryFolder } from '../../config/temporary.ts';

type Files = Readonly<Record<string, unknown>>;

/** The fields of the response of each route, by route: `{ 'GET /drinks': { price: 'string' } }`. */
export type Api = Readonly<Record<string, Readonly<Record<string, string>>>>;

export function contract(api: Api): string {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [route, fields] of Object.entries(api)) {
    const [method = '', path = ''] = route.split(' ');
    const properties = Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, { type }]));
    const schema = { type: 'object', required: Object.keys(fields), properties };
    const responses = { 200: { description: 'fine', content: { 'application/json': { schema } } } };
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const parameters = names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
    paths[path] = { ...paths[path], [method.toLowerCase()]: { parameters, responses } };
  }
  return JSON.stringify({ openapi: '3.1.0', info: { title: 'drinks', version: '1' }, paths }, null, 2);
}

/** A routes.yaml with these contracts, by version name; null for a version without a contract. */
export function routesFile(contracts: Readonly<Record<string, string | null>>, rest: Files = {}): string {
  const routes = Object.fromEntries(
    Object.entries(contracts).map(([name, file]) => [
      `/${name}`,
      { upstream: 'http://127.0.0.1:1', ...(file === null ? {} : { contract: file }) },
    ]),
  );
  return JSON.stringify({ ...rest, routes });
}

/** A folder or a git repository that is deleted after the tests. */
export class Repository {
  readonly folder = temporaryFolder();

  /** Its files are committed, one commit after the other. */
  static of(...commits: readonly Files[]): Repository {
    const repository = new Repository();
    cpSync(committed(commits).folder, repository.folder, { recursive: true });
    return repository;
  }

  write(files: Files): this {
    for (const [name, content] of Object.entries(files)) {
      const path = join(this.folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    }
    return this;
  }

  commit(): void {
    this.git('add', '--all');
    this.git('commit', '-q', '--allow-empty', '-m', 'a change');
  }

  git(...args: string[]): string {
    const settings = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'commit.gpgsign=false'];
    return execFileSync('git', [...settings, ...args], { cwd: this.folder, encoding: 'utf8', stdio: 'pipe' });
  }

  async compat(args: readonly string[], around: Around = {}): Promise<Printed> {
    return compat(this.folder, args, around);
  }
}

const made = new Map<string, Repository>();

afterAll(() => made.clear());

/** A repository to copy. Many tests of a file begin with the same commits, and git starts three processes for the first of them. */
function committed(commits: readonly Files[]): Repository {
  const key = JSON.stringify(commits);
  const same = made.get(key);
  if (same) return same;
  const repository = new Repository();
  repository.git('init', '-q', '-b', 'main', '--template=');
  for (const files of commits) {
    repository.write(files);
    repository.commit();
  }
  made.set(key, repository);
  return repository;
}

export interface Around {
  readonly stdin?: string;
  readonly isTTY?: boolean;
  readonly env?: NodeJS.ProcessEnv;
}

export interface Printed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function compat(cwd: string, args: readonly string[], around: Around = {}): Promise<Printed> {
  const { stdin = '', isTTY = false, env = {} } = around;
  const printed = { stdout: '', stderr: '' };
  const output = (name: 'stdout' | 'stderr') => ({
    isTTY,
    write: (text: string) => {
      printed[name] += text;
    },
  });
  const io = { stdout: output('stdout'), stderr: output('stderr'), env, cwd, stdin: async () => stdin };
  const code = await run(['compat', ...args], io);
  return { code, ...printed };
}
