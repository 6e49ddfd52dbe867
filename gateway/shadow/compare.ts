import { isList, isMap, type Located } from '../compat/document/located.ts';
import { CompareError } from '../compat/failure.ts';
import { BodyPath, type PathBudget } from './paths.ts';
import { bareType, type ContractResponses, isJson, type ListedResponse } from './responses.ts';
import { type Exchanged, notJson, parsed, type ResponsePair, tooDeep, valueIn } from './sample.ts';
import { addObservation, compareShapes, declaredAt, type Observation } from './shapes.ts';

// Per response: a body with more paths is recorded up to here.
const mostPaths = 500;
// Combinations of a route and its statuses. Of further ones, only the statuses are compared.
const mostResponses = 5_000;
const mostViolations = 2_000;

/** The paths of the bodies of one route and status. */
interface ComparedBodies {
  readonly root: BodyPath;
  readonly budget: PathBudget;
}

/** Compares the responses of two versions by their contracts and their shapes. Pure: it keeps the names of paths, and no values. */
export class ResponseComparer {
  readonly #old: ContractResponses;
  readonly #new: ContractResponses;
  readonly #bodies = new Map<string, ComparedBodies>();

  constructor(old: ContractResponses, now: ContractResponses) {
    this.#old = old;
    this.#new = now;
  }

  compare(pair: ResponsePair): Observation[] {
    try {
      return this.#compare(pair);
    } finally {
      for (const validator of [this.#old.open, this.#old.strict, this.#new.open, this.#new.strict]) validator?.forget();
      // The engine keeps the text that the last regular expression matched.
      /^/.test('');
    }
  }

  #compare(pair: ResponsePair): Observation[] {
    const { old, new: now, withoutCredentials } = pair;
    const into: Observation[] = [];
    const note = (detail: string): Observation[] => {
      addObservation(into, { status: old.status, what: 'pair', detail, old: 1, new: now ? 1 : 0 });
      return into;
    };
    if (withoutCredentials && now && isRefusal(now.status) && !isRefusal(old.status)) return note('refused');
    if (now) this.#compareStatus(pair, now, into);
    if (now && now.status !== old.status && !(isSuccess(old.status) && isSuccess(now.status))) return note('status');
    if (pair.method === 'HEAD' || [old, now].some((one) => one && isBodiless(one))) return note('no body');
    if ([old, now].every((one) => one === undefined || one.body.byteLength === 0)) return note('no body');
    if (now) this.#compareMedia(pair, now, into);
    if (![old, now ?? old].every(({ contentType }) => isJson(bareType(contentType)))) return note('not JSON');
    const [before, after] = [old, now].map((one) => one && parsed(one.body));
    if (before === tooDeep || after === tooDeep) return note('too deep');
    const [isBroken, isBrokenNow] = [before, after].map((one) => one === notJson);
    if (isBroken || isBrokenNow) {
      addObservation(into, { status: old.status, what: 'syntax', old: isBroken ? 1 : 0, new: isBrokenNow ? 1 : 0 });
      return note('not JSON');
    }
    const [listed, listedNow] = this.#listedResponses(pair, now);
    const { root, budget } = this.#bodiesOf(pair, listed.schema, listedNow.schema);
    const bodies = { before: valueIn(before), after: now && valueIn(after) };
    this.#compareContracts(pair, bodies, [listed.schema, listedNow.schema], root, into);
    if (now) compareShapes(root, [bodies.before], [bodies.after], old.status, into);
    if (budget.isExceeded) note('more paths');
    return note('body');
  }

  /** The paths that the contracts list for a response with this status, for the list of fields that were never compared. */
  listedPaths(pair: ResponsePair): BodyPath[] {
    const [listed, listedNow] = this.#listedResponses(pair, pair.new);
    const { root } = this.#bodiesOf(pair, listed.schema, listedNow.schema);
    return below(root);
  }

  #compareStatus(pair: ResponsePair, now: Exchanged, into: Observation[]): void {
    for (const status of new Set([pair.old.status, now.status])) {
      const [before, after] = this.#listedResponses({ ...pair, old: { ...pair.old, status } }, { ...now, status });
      const listing = statusListing(after, this.#new);
      const refuses = listing === 'optional' && refusals.has(status) && this.#requiresMore(pair);
      const declares = `${statusListing(before, this.#old)} → ${refuses ? 'required' : listing}`;
      const share = (one: Exchanged): number => (one.status === status ? 1 : 0);
      addObservation(into, { what: 'status', detail: String(status), declares, old: share(pair.old), new: share(now) });
    }
  }

  /** Whether the new contract requires a parameter that clients of the old version need not send. */
  #requiresMore({ method, template, toTemplate }: ResponsePair): boolean {
    const known = this.#old.requiredParameters(method, template);
    return [...this.#new.requiredParameters(method, toTemplate)].some((name) => !known.has(name));
  }

  #compareMedia({ old, ...pair }: ResponsePair, now: Exchanged, into: Observation[]): void {
    const media = new Set([old, now].map(({ contentType }) => printedType(contentType)));
    for (const type of media) {
      const ofType = (one: Exchanged): Exchanged => ({ ...one, contentType: type });
      const [before, after] = this.#listedResponses({ ...pair, old: ofType(old) }, ofType(now));
      const declares = [before, after].map((one) => (one.hasMedia ? 'optional' : 'unlisted')).join(' → ');
      const share = (one: Exchanged): number => (printedType(one.contentType) === type ? 1 : 0);
      addObservation(into, {
        status: old.status,
        what: 'media',
        detail: type,
        declares,
        old: share(old),
        new: share(now),
      });
    }
  }

  #listedResponses({ method, template, toTemplate, old }: ResponsePair, now = old): [ListedResponse, ListedResponse] {
    return [
      this.#old.of(method, template, old.status, bareType(old.contentType)),
      this.#new.of(method, toTemplate, now.status, bareType(now.contentType)),
    ];
  }

  #bodiesOf({ method, template, old, new: now }: ResponsePair, schema?: Located, schemaNow?: Located): ComparedBodies {
    const key = `${method} ${template} ${old.status} ${now?.status} ${schema === undefined} ${schemaNow === undefined}`;
    const known = this.#bodies.get(key);
    if (known) return known;
    const budget = { left: this.#bodies.size < mostResponses ? mostPaths : 0, isExceeded: false };
    const [before, after] = [meaningIn(this.#old, schema), meaningIn(this.#new, schemaNow)];
    const bodies = { root: BodyPath.root(before, after, budget), budget };
    bodies.root.addListed();
    if (this.#bodies.size < mostResponses) this.#bodies.set(key, bodies);
    return bodies;
  }

  /** What each body violates of its own contract, and what both violate of the old one. Both bodies of a control are of the old version. */
  #compareContracts(
    { kind, old: { status } }: ResponsePair,
    { before, after }: { readonly before: unknown; readonly after: unknown },
    [schema, schemaNow]: readonly [Located | undefined, Located | undefined],
    root: BodyPath,
    into: Observation[],
  ): void {
    const placed = (validator: 'open' | 'strict', isOld: boolean, body: unknown): Map<string, PlacedViolation> => {
      const [contract, listed] = isOld ? [this.#old, schema] : [this.#new, schemaNow];
      const violations = listed && body !== undefined ? (contract[validator]?.violations(listed, body) ?? []) : [];
      const found = new Map<string, PlacedViolation>();
      for (const { keys, rule } of violations.slice(0, mostViolations)) {
        const path = pathTo(root, keys, body);
        const key = `${path.text} ${rule}`;
        found.set(key, { path, rule, count: (found.get(key)?.count ?? 0) + 1 });
      }
      return found;
    };
    const shareOf = (violation: PlacedViolation | undefined, body: unknown): number =>
      violation ? Math.min(1, violation.count / countOwners(violation.path.text, body)) : 0;
    const invalid = [placed('strict', true, before), placed('strict', kind === 'control', after)] as const;
    const changed = [placed('open', true, before), placed('open', true, after)] as const;
    const isCompared = kind === 'shadow' || kind === 'adapter';
    const narrowed = [...(isCompared ? placed('strict', false, before) : [])].filter(([, { rule }]) => isOfType(rule));
    const invalidPaths = new Set([...invalid[1].values()].map(({ path }) => path));
    for (const [key, { path }] of changed[1]) if (invalidPaths.has(path)) changed[1].delete(key);
    for (const [what, ofOld, ofNew] of [
      ['invalid', ...invalid],
      ['changed', ...changed],
      ['narrowed', new Map(narrowed), new Map([...invalid[1]].filter(([, { rule }]) => isCompared && isOfType(rule)))],
    ] as const) {
      for (const [key, { path, rule }] of new Map([...ofOld, ...ofNew])) {
        const shares = { old: shareOf(ofOld.get(key), before), new: shareOf(ofNew.get(key), after) };
        addObservation(into, { status, path: path.text, what, detail: rule, declares: declaredAt(path), ...shares });
      }
    }
  }
}

interface PlacedViolation {
  readonly path: BodyPath;
  readonly rule: string;
  /** How many values of the body violate the rule at this path. */
  readonly count: number;
}

function isOfType(rule: string): boolean {
  return rule.startsWith('type ');
}

/** The path of a violation; the nearest path above it if it is not recorded. */
function pathTo(root: BodyPath, keys: readonly string[], body: unknown): BodyPath {
  let [path, value] = [root, body];
  for (const key of keys) {
    const next = isList(value) ? path.items() : path.field(key);
    if (next === undefined) return path;
    value = isList(value) ? value[Number(key)] : isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined;
    path = next;
  }
  return path;
}

/** The number of objects in a body that can have the last field of a pointer. If it ends with `*`: the number of its values. At least 1. */
function countOwners(pointer: string, body: unknown): number {
  const keys = pointer.split('/').slice(1);
  const owners = keys.at(-1) === '*' ? keys : keys.slice(0, -1);
  let values = [body];
  for (const key of owners) {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~');
    values = values.flatMap((value) => {
      if (isList(value)) return key === '*' ? value : [];
      if (!isMap(value)) return [];
      return key === '*' ? Object.values(value) : Object.hasOwn(value, name) ? [value[name]] : [];
    });
  }
  return Math.max(1, values.length);
}

function below(path: BodyPath): BodyPath[] {
  return [...path.children].flatMap((child) => [child, ...below(child)]);
}

/** How a version answers a request that its contract does not allow. */
const refusals: ReadonlySet<number> = new Set([400, 422]);

function statusListing({ hasRoute, hasStatus }: ListedResponse, { isKnown }: ContractResponses): string {
  if (!isKnown) return 'no schema';
  return hasRoute ? (hasStatus ? 'optional' : 'unlisted') : 'no route';
}

function meaningIn(contract: ContractResponses, schema: Located | undefined) {
  try {
    return schema && contract.meaningOf(schema);
  } catch (error) {
    if (error instanceof CompareError) return undefined;
    throw error;
  }
}

function isRefusal(status: number): boolean {
  return status === 401 || status === 403;
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function isBodiless({ status }: Exchanged): boolean {
  return status === 204 || status === 304;
}

/** A media type that a backend may have made up is not stored. */
function printedType(contentType: string | undefined): string {
  const type = bareType(contentType);
  return /^[\w.+-]{1,40}\/[\w.+-]{1,60}$/.test(type) ? type : 'none';
}
