import type { PathTable } from '../../shared/pathTable.ts';
import { otherRoute } from '../usageRow.ts';
import { TwoGenerationCache } from './twoGenerationCache.ts';

const maxTemplateLength = 300;
const maxMethods = 40;

/** Names the routes of one version, `GET /drinks/{id}`, up to a limit; further routes are named `other`. */
export class RouteNames {
  readonly #max: number;
  readonly #names = new Set<string>();
  readonly #byMethod = new Map<string, TwoGenerationCache>();
  #paths: PathTable<unknown> | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  /** `paths`: of the version's contract, if it has one. `status`: of the response. */
  nameOf(method: string, path: string, paths: PathTable<unknown> | undefined, status: number): string {
    if (paths !== this.#paths) {
      this.#paths = paths;
      this.#byMethod.clear();
    }
    const cache = this.#byMethod.get(method);
    return cache?.get(path) ?? this.#name(method, path, status, cache ?? this.#cacheFor(method));
  }

  #name(method: string, path: string, status: number, cache: TwoGenerationCache): string {
    const template = this.#paths?.find(path)?.template.slice(0, maxTemplateLength) ?? foldPath(path);
    const route = `${/^[A-Z-]{1,20}$/.test(method) ? method : 'OTHER'} ${template}`;
    const name = this.#admit(route, status) ? route : otherRoute;
    // A path that returned 404 may exist later. Then it may get a name, so `other` is not cached for it.
    if (name === route || status !== 404) cache.set(path, name);
    return name;
  }

  /** Routes that return 404 get at most half of the names, so that a scanner leaves names for the routes that exist. */
  #admit(route: string, status: number): boolean {
    if (this.#names.has(route)) return true;
    const limit = status === 404 ? Math.ceil(this.#max / 2) : this.#max;
    if (this.#names.size >= limit) return false;
    this.#names.add(route);
    return true;
  }

  #cacheFor(method: string): TwoGenerationCache {
    if (this.#byMethod.size >= maxMethods) this.#byMethod.clear();
    const cache = new TwoGenerationCache();
    this.#byMethod.set(method.slice(0, 64), cache);
    return cache;
  }
}

const maxSegments = 10;
const maxSegmentLength = 40;

/** Segments that vary between requests: numbers, dates, UUIDs, and keys made of letters and many digits. */
const idPatterns: readonly RegExp[] = [
  /^[+-]?\d+(?:[.,:]\d+)*$/,
  /^\d{4}-\d{2}(?:-\d{2})?(?:T[\d:.+Z-]*)?$/,
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  /^(?=.*\d)[0-9a-f]{8,}$/i,
  /^[A-Za-z]+[-_.:]\d+$/,
  /\d\D*\d\D*\d\D*\d/,
  // No word is that long without a separator, and no name mixes capitals and digits like that.
  /[A-Za-z0-9]{24,}/,
  /^(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9_-]{10,}$/,
];

/**
 * Replaces each id in a path: `/drinks/17` becomes `/drinks/{}`. Segments with other characters, such as e-mail addresses
 * or percent-encoding, count as ids, too, so that the result is short and safe to print anywhere.
 */
export function foldPath(path: string): string {
  const segments = path.slice(path.startsWith('/') ? 1 : 0).split('/', maxSegments + 1);
  const folded = segments.slice(0, maxSegments).map(foldSegment);
  return `/${folded.join('/')}${segments.length > maxSegments ? '/*' : ''}`;
}

function foldSegment(segment: string): string {
  if (segment.length > 4 * maxSegmentLength) return '{}';
  const [, stem = segment, extension = ''] = /^(.+)(\.[A-Za-z]{2,5})$/.exec(segment) ?? [];
  if (!/^[\w.~:+$-]*$/.test(segment) || segment.length > maxSegmentLength) return '{}';
  return idPatterns.some((id) => id.test(stem)) ? `{}${extension}` : segment;
}
