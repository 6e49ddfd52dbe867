import type { Operation } from '../../../config/adapterSettings.ts';
import { lowerCased } from '../../../http1/grammar.ts';
import { headForBody, type ResponseHead, responseField } from '../../../http1/responseHead.ts';
import type { UrlRewriting } from '../../../proxy/forwarding/rewrite.ts';
import { pathBelow } from '../../../routing/requestTarget.ts';
import { PathTable, translatePath } from '../../../shared/pathTable.ts';
import { isAdaptableJson } from './adaptedBody.ts';
import type { CompiledAdapter, CompiledRoute } from './compiledAdapter.ts';
import { formDecoded, type QueryPair, queryPairs } from './parameterTexts.ts';

// Accept-Encoding is replaced. The other fields are about the bytes of a body (ranges, deltas) or about its date. They are dropped,
// because an adapted body has other bytes than the body of the backend, and its date stays the same when the adapter changes.
const droppedFromRequests = new Set(['accept-encoding', 'range', 'if-range', 'if-modified-since', 'a-im']);
// Dropped if the request body is changed.
const requestBodyFields = new Set(['content-encoding', 'content-md5', 'digest', 'content-digest', 'repr-digest']);
const tagConditions = new Set(['if-none-match', 'if-match']);

/** What `adaptedRequestLines` depends on. */
interface RequestChange {
  /** The hash of the adapter. The entity tags of adapted bodies end with it. */
  readonly hash: string;
  readonly isNewBody: boolean;
  /** The media types to ask the backend for. Undefined: those that the client accepts. */
  readonly accept: readonly string[] | undefined;
}

/** The request fields for the backend. `lines`: `Name: value` lines, as received. */
export function adaptedRequestLines(lines: string, { hash, isNewBody, accept }: RequestChange): string {
  let adapted = 'Accept-Encoding: identity\r\n';
  let clientAccept = '';
  // Key: the name of a condition in lower case. Value: its entity tags.
  let tagLists: Map<string, string> | undefined;
  let end = 0;
  for (let start = 0; start < lines.length; start = end) {
    const colon = lines.indexOf(':', start);
    end = lines.indexOf('\r\n', colon) + 2;
    const name = lowerCased(lines.slice(start, colon));
    if (droppedFromRequests.has(name) || (isNewBody && requestBodyFields.has(name))) continue;
    if (accept && name === 'accept') {
      clientAccept += `,${lines.slice(colon + 1, end).trim()}`;
      continue;
    }
    if (!tagConditions.has(name)) adapted += lines.slice(start, end);
    else {
      const value = lines.slice(colon + 1, end).trim();
      tagLists ??= new Map();
      const earlierValue = tagLists.get(name);
      tagLists.set(name, earlierValue === undefined ? value : `${earlierValue}, ${value}`);
    }
  }
  if (accept) adapted += `Accept: ${acceptFor(clientAccept, accept)}\r\n`;
  for (const [name, tagList] of tagLists ?? []) {
    const tags = originalTags(tagList, hash);
    // Without a tag of this adapter, If-None-Match has no effect, and If-Match gets a tag that matches nothing.
    if (tags === '' && name === 'if-none-match') continue;
    adapted += `${name === 'if-match' ? 'If-Match' : 'If-None-Match'}: ${tags === '' ? 'W/""' : tags}\r\n`;
  }
  return adapted;
}

/**
 * The media ranges of the client that name one of `types`. If there are none, all `types`: RFC 9110 §12.5.1 allows a server to
 * ignore `Accept`.
 */
function acceptFor(clientAccept: string, types: readonly string[]): string {
  const isNamed = (range: string): boolean => types.includes((range.split(';', 1)[0] ?? '').trim().toLowerCase());
  const named = clientAccept.split(',').filter((range) => isNamed(range) && !/;\s*q\s*=\s*0(?:\.0*)?\s*$/i.test(range));
  return named.length === 0 ? types.join(', ') : named.map((range) => range.trim()).join(', ');
}

// RFC 9110 §8.8.3. A comma may be part of a tag.
const entityTag = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;
const oneEntityTag = /^(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/;

/**
 * Converts the entity tags of a client to those of the backend. A tag without the hash belongs to another body, and is left out.
 */
export function originalTags(list: string, hash: string): string {
  if (list.trim() === '*') return '*';
  const suffix = `-${hash}"`;
  return [...list.matchAll(entityTag)]
    .filter(([tag]) => tag.endsWith(suffix))
    .map(([tag]) => `${tag.slice(0, -suffix.length)}"`)
    .join(', ');
}

/**
 * Always weak, because another release of the gateway may adapt the same body to other bytes. Undefined for a tag that is not
 * valid.
 */
export function adaptedTag(tag: string, hash: string): string | undefined {
  const opaque = oneEntityTag.exec(tag)?.[1];
  return opaque === undefined ? undefined : `W/"${opaque}-${hash}"`;
}

const droppedFromResponses = new Set(['accept-ranges', 'digest', 'content-md5', 'content-digest', 'repr-digest']);

/**
 * A property of a parsed head: the values derived from it. `ResponseHeads` reuses a parsed head while the backend sends the same
 * head.
 */
const derived = Symbol('derived');

interface HeadWithDerived extends ResponseHead {
  [derived]?: DerivedValues;
}

interface DerivedValues {
  readonly contentType: string | undefined;
  readonly coding: string;
  /** Whether the body may be JSON. */
  readonly isJson: boolean;
  /** The latest adapted head. */
  adapted: { readonly hash: string; readonly length: AdaptedLength; readonly head: ResponseHead } | undefined;
}

export function derivedValuesOf(head: HeadWithDerived): DerivedValues {
  const earlierValues = head[derived];
  if (earlierValues) return earlierValues;
  const contentType = responseField(head, 'content-type');
  const coding = responseField(head, 'content-encoding') ?? '';
  const values: DerivedValues = { contentType, coding, isJson: isAdaptableJson(contentType), adapted: undefined };
  head[derived] = values;
  return values;
}

/**
 * The length of the new body. `unknown`: the response has no body (HEAD, 304), and its head describes a body that would be changed.
 * `same`: the body is passed on.
 */
type AdaptedLength = number | 'unknown' | 'same';

/** The head for the client. The same object for equal arguments, so that `renderHead` renders it once. */
export function adaptedHead(head: HeadWithDerived, hash: string, length: AdaptedLength): ResponseHead {
  const values = derivedValuesOf(head);
  if (values.adapted?.hash === hash && values.adapted.length === length) return values.adapted.head;
  const adapted = headForBody(head, length, (name, value) => {
    if (droppedFromResponses.has(name)) return undefined;
    return name === 'etag' ? adaptedTag(value, hash) : value;
  });
  values.adapted = { hash, length, head: adapted };
  return adapted;
}

/** Where an adapted version and the version of its backend are served. */
export interface AdaptedPaths extends Pick<UrlRewriting, 'basePath' | 'versionBase' | 'isVersion'> {
  /** The segment of the adapted version: `v1`. */
  readonly version: string;
  /** The segment of the version of the backend: `v2`. */
  readonly from: string;
  /** Whether the backend gets its paths without the version. */
  readonly isStripped: boolean;
  /** `moved` of the adapted version, if `from` is its successor. */
  readonly moved: readonly (readonly [template: string, value: string | null])[];
}

/** Maps URLs of the backend's version in responses to URLs of the adapted version: Location, Link, cookies. */
export class AdaptedReferences implements UrlRewriting {
  readonly removedPrefix: string;
  readonly basePath: string;
  readonly versionBase: string;
  readonly isVersion: (segment: string) => boolean;
  /** `/v1` below the base path; `#otherRoot` is `/v2`. */
  readonly #ownRoot: string;
  readonly #otherRoot: string;
  readonly #routes: PathTable<CompiledRoute>;
  readonly #moved: PathTable<string>;

  constructor(adapter: CompiledAdapter, { version, from, isStripped, moved, ...paths }: AdaptedPaths) {
    const { basePath, versionBase, isVersion } = paths;
    this.basePath = basePath;
    this.versionBase = versionBase;
    this.isVersion = isVersion;
    this.removedPrefix = isStripped ? `${basePath}/${from}` : '';
    this.#ownRoot = `${basePath}/${version}`;
    this.#otherRoot = `${basePath}/${from}`;
    const routes = adapter.routes.flatMap((route): [string, CompiledRoute][] => {
      const template = route.templateForUrls;
      return template === undefined ? [] : [[template, route]];
    });
    // A URL is usually fetched, so a GET route is preferred to others with the same path.
    this.#routes = new PathTable(routes.sort(([, a], [, b]) => Number(isGet(b)) - Number(isGet(a))));
    this.#moved = new PathTable(
      moved.flatMap(([ownTemplate, otherTemplate]): [string, string][] =>
        otherTemplate ? [[otherTemplate, ownTemplate]] : [],
      ),
    );
  }

  /** A URL without a counterpart stays as it is: the version of the backend serves it. */
  mapReference(reference: string): string {
    const [, path = '', query = '', fragment = ''] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(reference) ?? [];
    const below = this.#below(path);
    if (below === undefined) return reference;
    const match = this.#routes.find(below);
    if (match) {
      const ownPath = translatePath(below, match.template, match.value.settings.path);
      const ownQuery = ownQueryFor(match.value, query);
      if (ownQuery === undefined) return reference;
      if (ownPath !== undefined) return this.#ownRoot + ownPath + ownQuery + fragment;
    }
    const row = this.#moved.find(below);
    const ownPath = row && translatePath(below, row.template, row.value);
    return ownPath === undefined ? reference : this.#ownRoot + ownPath + query + fragment;
  }

  /**
   * A path without a counterpart becomes `/v1`, the path of the adapted version. Clients of `/v1` would otherwise not send the
   * cookie.
   */
  mapCookiePath(path: string): string {
    const below = this.#below(path.trimEnd());
    if (below === undefined) return path;
    const mapped = this.mapReference(path.trimEnd());
    return mapped.startsWith(`${this.#ownRoot}/`) ? mapped : this.#ownRoot;
  }

  /** The part of `path` after the prefix of the other version. A backend may omit `base_path`, so it is optional. */
  #below(path: string): string | undefined {
    const below = pathBelow(path, this.#otherRoot);
    return below ?? (this.basePath === '' ? undefined : pathBelow(path, this.#otherRoot.slice(this.basePath.length)));
  }
}

function isGet({ settings }: CompiledRoute): boolean {
  return settings.method === 'GET';
}

/**
 * The query of a URL of the adapted version. Undoes the operations that can be undone, and removes the parameters that the adapter
 * sets. Other parameters stay as they are. Undefined: a client that follows the URL would not get the same resource.
 */
function ownQueryFor(route: CompiledRoute, query: string): string | undefined {
  const operations = route.settings.request.query;
  if (query === '' || operations.length === 0) return query;
  let pairs: readonly QueryPair[] = queryPairs(query);
  for (const operation of operations.toReversed()) pairs = undone(pairs, operation);
  const ownQuery = pairs.length === 0 ? '' : `?${pairs.map(({ raw }) => raw).join('&')}`;
  try {
    const sent = textsByName(route.queryOf(ownQuery));
    const isSame = [...textsByName(query)].every(([name, texts]) => texts.join('\0') === sent.get(name)?.join('\0'));
    return isSame ? ownQuery : undefined;
  } catch {
    return undefined;
  }
}

function undone(pairs: readonly QueryPair[], operation: Operation): readonly QueryPair[] {
  const [at, ...below] = operation.at;
  if (at === undefined || below.length > 0) return pairs;
  switch (operation.kind) {
    case 'const':
      return pairs.filter(({ name }) => name !== at);
    case 'rename':
    case 'move':
      return pairs.map((pair) => (pair.name === operation.to[0] ? withName(pair, at) : pair));
    case 'each': {
      const [itemOperation, ...others] = operation.operations;
      // In a query, each item is a parameter of its own. An operation on whole items is undone like one on the parameter.
      const changesWholeItems = itemOperation?.at.length === 0 && others.length === 0;
      return changesWholeItems ? undone(pairs, { ...itemOperation, at: operation.at }) : pairs;
    }
    case 'map': {
      const originalValues = new Map([...operation.values].map(([from, to]) => [String(to), from]));
      return pairs.map((pair) => {
        const value = pair.name === at ? originalValues.get(formDecoded(pair.rawValue)) : undefined;
        return value === undefined ? pair : withValue(pair, value);
      });
    }
    default:
      return pairs;
  }
}

function withName(pair: QueryPair, name: string): QueryPair {
  const rawName = encodeURIComponent(name);
  return { ...pair, name, rawName, raw: rawName + pair.raw.slice(pair.rawName.length) };
}

function withValue(pair: QueryPair, value: string): QueryPair {
  const rawValue = encodeURIComponent(value);
  return { ...pair, rawValue, raw: `${pair.rawName}=${rawValue}` };
}

function textsByName(query: string): Map<string, string[]> {
  const groups = Map.groupBy(queryPairs(query), ({ name }) => name);
  return new Map([...groups].map(([name, pairs]) => [name, pairs.map(({ rawValue }) => formDecoded(rawValue))]));
}
