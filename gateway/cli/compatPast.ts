import { dirname, relative, resolve, sep } from 'node:path';
import { Commit } from '../compat/source/git.ts';
import { decode } from '../config/load.ts';
import { readYaml } from '../config/readDocument.ts';

/** Where the contracts of a routes.yaml were in a commit. */
export class Past {
  readonly #ref: string;
  readonly #base: string;
  readonly #commit: Commit;
  /** By name of version, absolute. */
  readonly #named: ReadonlyMap<string, string>;

  /** `file`: the routes.yaml, absolute; `base`: where relative names begin. @throws CompareError */
  constructor(ref: string, file: string, base: string, env: NodeJS.ProcessEnv) {
    this.#ref = ref;
    this.#base = base;
    this.#commit = new Commit(ref, base);
    const bytes = this.#commit.read(this.#pathTo(file));
    this.#named = bytes ? contractsIn(decode(bytes) ?? '', file, env) : new Map();
  }

  /** The versions that had a contract. */
  get versions(): string[] {
    return [...this.#named.keys()];
  }

  /** `HEAD:./services/v1/contract/openapi.yaml`, wherever the file stood then; undefined for one that is new since. */
  contractOf(version: string, file: string): string | undefined {
    const paths = [this.#named.get(version), file].flatMap((one) => (one === undefined ? [] : [this.#pathTo(one)]));
    const path = paths.find((one) => this.#commit.read(one) !== undefined);
    return path && `${this.#ref}:${path}`;
  }

  #pathTo(file: string): string {
    return `./${relative(this.#base, file).replaceAll(sep, '/')}`;
  }
}

/** What a file that need not be sound any more says of contracts; one that cannot be read says nothing. */
function contractsIn(text: string, file: string, env: NodeJS.ProcessEnv): Map<string, string> {
  const folder = dirname(file);
  const { tree } = readYaml(text, file, folder, env).source;
  const routes = mapIn(mapIn(tree)['routes']);
  return new Map(
    Object.entries(routes).flatMap(([key, route]) => {
      const contract = mapIn(route)['contract'];
      const path = typeof contract === 'string' ? contract : mapIn(contract)['file'];
      return typeof path === 'string' ? [[key.replace(/^\//, ''), resolve(folder, path)]] : [];
    }),
  );
}

function mapIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
