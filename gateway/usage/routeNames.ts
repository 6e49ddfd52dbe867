import type { PathTable } from '../shared/pathTable.ts';
import { foldPath } from './foldPath.ts';
import { Generations } from './generations.ts';

/** What the routes of a version are counted as that are too many. */
export const otherRoute = 'other';

const longestTemplate = 300;
const maxMethods = 40;

/** The routes of one version by name, up to a number of them: method and path template. */
export class RouteNames {
  readonly #max: number;
  readonly #taken = new Set<string>();
  readonly #byMethod = new Map<string, Generations>();
  #paths: PathTable<unknown> | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  /** `paths`: of the version's contract, if it has one. `status`: of the answer. */
  nameOf(method: string, path: string, paths: PathTable<unknown> | undefined, status: number): string {
    if (paths !== this.#paths) {
      this.#paths = paths;
      this.#byMethod.clear();
    }
    const known = this.#byMethod.get(method);
    return known?.get(path) ?? this.#learn(method, path, status, known ?? this.#methodFor(method));
  }

  #learn(method: string, path: string, status: number, known: Generations): string {
    const template = this.#paths?.find(path)?.template.slice(0, longestTemplate) ?? foldPath(path);
    const route = `${/^[A-Z-]{1,20}$/.test(method) ? method : 'OTHER'} ${template}`;
    const name = this.#admit(route, status) ? route : otherRoute;
    // A path that was not found may be there later, and then has a claim to a name.
    if (name === route || status !== 404) known.set(path, name);
    return name;
  }

  /** What is not found gets only half of the names: a scanner must not take them from the routes that exist. */
  #admit(route: string, status: number): boolean {
    if (this.#taken.has(route)) return true;
    const room = status === 404 ? Math.ceil(this.#max / 2) : this.#max;
    if (this.#taken.size >= room) return false;
    this.#taken.add(route);
    return true;
  }

  #methodFor(method: string): Generations {
    if (this.#byMethod.size >= maxMethods) this.#byMethod.clear();
    const known = new Generations();
    this.#byMethod.set(method.slice(0, 64), known);
    return known;
  }
}
