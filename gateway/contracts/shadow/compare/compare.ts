import { isList, type Located } from '../../../contract/document/located.ts';
import { CompareError } from '../../../contract/failure.ts';
import { isMap, memberName } from '../../../shared/json.ts';
import { BodyPath, type PathBudget } from './paths.ts';
import { bareType, type ContractResponses, isJsonMedia, type ListedResponse } from './responses.ts';
import { type ComparedResponse, notJson, parsedBody, type ResponsePair, tooDeep, valueIfJson } from './sample.ts';
import { addObservation, compareShapes, type Observation } from './shapes.ts';

// Paths that are recorded for one route and status. Further ones are ignored.
const maxPaths = 500;
// Combinations of a route and its statuses. For further ones, nothing below the root of the body is compared.
const maxCombinations = 5_000;
// Violations of one body by one contract. Further ones are ignored.
const maxViolations = 2_000;

/** The paths in the bodies of one route and its statuses. */
interface RecordedPaths {
  readonly root: BodyPath;
  readonly budget: PathBudget;
}

/** Compares the responses of two versions by their contracts and their shapes. It keeps the names of paths, but no values. */
export class ResponseComparer {
  readonly #oldContract: ContractResponses;
  readonly #newContract: ContractResponses;
  /** Method, route and statuses, and which contracts have a schema → the paths. */
  readonly #recordedPaths = new Map<string, RecordedPaths>();

  constructor(oldContract: ContractResponses, newContract: ContractResponses) {
    this.#oldContract = oldContract;
    this.#newContract = newContract;
  }

  compare(pair: ResponsePair): Observation[] {
    try {
      return this.#compare(pair);
    } finally {
      for (const { openValidator, strictValidator } of [this.#oldContract, this.#newContract]) {
        openValidator?.forget();
        strictValidator?.forget();
      }
      // JavaScript keeps the text that the last regular expression matched (`RegExp.lastMatch`). An empty match replaces it.
      /^/.test('');
    }
  }

  #compare(pair: ResponsePair): Observation[] {
    const { old, new: newResponse, copyLacksCredentials } = pair;
    const into: Observation[] = [];
    /** Adds the observation about the pair itself. The share is 1 for a response, 0 for a missing one. @returns all observations */
    const addPair = (detail: string): Observation[] => {
      addObservation(into, { status: old.status, what: 'pair', detail, oldShare: 1, newShare: newResponse ? 1 : 0 });
      return into;
    };
    if (copyLacksCredentials && newResponse && isAccessRefusal(newResponse.status) && !isAccessRefusal(old.status))
      return addPair('refused');
    if (newResponse) this.#compareStatus(pair, newResponse, into);
    if (newResponse && newResponse.status !== old.status && !(isSuccess(old.status) && isSuccess(newResponse.status)))
      return addPair('status');
    if (pair.method === 'HEAD' || [old, newResponse].some((one) => one && isBodiless(one))) return addPair('no body');
    if ([old, newResponse].every((one) => one === undefined || one.body.byteLength === 0)) return addPair('no body');
    if (newResponse) this.#compareMedia(pair, newResponse, into);
    if (![old, newResponse ?? old].every(({ contentType }) => isJsonMedia(bareType(contentType))))
      return addPair('not JSON');
    const [oldParsed, newParsed] = [old, newResponse].map((one) => one && parsedBody(one.body));
    if (oldParsed === tooDeep || newParsed === tooDeep) return addPair('too deep');
    const [isOldBroken, isNewBroken] = [oldParsed, newParsed].map((one) => one === notJson);
    if (isOldBroken || isNewBroken) {
      const shares = { oldShare: isOldBroken ? 1 : 0, newShare: isNewBroken ? 1 : 0 };
      addObservation(into, { status: old.status, what: 'syntax', ...shares });
      return addPair('not JSON');
    }
    const [oldListed, newListed] = this.#listedResponses(pair, newResponse);
    const { root, budget } = this.#pathsOf(pair, oldListed.schema, newListed.schema);
    const [oldBody, newBody] = [valueIfJson(oldParsed), newResponse && valueIfJson(newParsed)];
    this.#compareContracts(pair, [oldBody, newBody], [oldListed.schema, newListed.schema], root, into);
    // At the root, the only value is the body.
    if (newResponse) compareShapes(root, [oldBody], [newBody], old.status, into);
    if (budget.isExceeded) addPair('more paths');
    return addPair('body');
  }

  /** The paths that the contracts list for this route and status, to find the fields that were never compared. */
  listedPaths(pair: ResponsePair): BodyPath[] {
    const [oldListed, newListed] = this.#listedResponses(pair, pair.new);
    const { root } = this.#pathsOf(pair, oldListed.schema, newListed.schema);
    return descendantsOf(root);
  }

  #compareStatus(pair: ResponsePair, newResponse: ComparedResponse, into: Observation[]): void {
    for (const status of new Set([pair.old.status, newResponse.status])) {
      // How both contracts list the same status.
      const old = { ...pair.old, status };
      const [oldListed, newListed] = this.#listedResponses({ ...pair, old }, { ...newResponse, status });
      const listing = statusListing(newListed, this.#newContract);
      // If the new contract requires a further parameter, 400 and 422 are expected. `required` marks them.
      const isInvalidRequest =
        listing === 'optional' && invalidRequestStatuses.has(status) && this.#requiresMoreParameters(pair);
      const share = (one: ComparedResponse): number => (one.status === status ? 1 : 0);
      addObservation(into, {
        what: 'status',
        detail: String(status),
        oldListing: statusListing(oldListed, this.#oldContract),
        newListing: isInvalidRequest ? 'required' : listing,
        oldShare: share(pair.old),
        newShare: share(newResponse),
      });
    }
  }

  /** Whether the new contract requires a parameter that clients of the old version need not send. */
  #requiresMoreParameters({ method, template, toTemplate }: ResponsePair): boolean {
    const oldRequired = this.#oldContract.requiredParameters(method, template);
    return [...this.#newContract.requiredParameters(method, toTemplate)].some((name) => !oldRequired.has(name));
  }

  #compareMedia({ old, ...pair }: ResponsePair, newResponse: ComparedResponse, into: Observation[]): void {
    const media = new Set([old, newResponse].map(({ contentType }) => storedType(contentType)));
    for (const type of media) {
      const ofType = (one: ComparedResponse): ComparedResponse => ({ ...one, contentType: type });
      const [oldListed, newListed] = this.#listedResponses({ ...pair, old: ofType(old) }, ofType(newResponse));
      const share = (one: ComparedResponse): number => (storedType(one.contentType) === type ? 1 : 0);
      addObservation(into, {
        status: old.status,
        what: 'media',
        detail: type,
        oldListing: oldListed.hasMedia ? 'optional' : 'unlisted',
        newListing: newListed.hasMedia ? 'optional' : 'unlisted',
        oldShare: share(old),
        newShare: share(newResponse),
      });
    }
  }

  #listedResponses(
    { method, template, toTemplate, old }: ResponsePair,
    newResponse = old,
  ): [ListedResponse, ListedResponse] {
    return [
      this.#oldContract.listedResponse(method, template, old.status, bareType(old.contentType)),
      this.#newContract.listedResponse(method, toTemplate, newResponse.status, bareType(newResponse.contentType)),
    ];
  }

  #pathsOf(
    { method, template, old, new: newResponse }: ResponsePair,
    oldSchema?: Located,
    newSchema?: Located,
  ): RecordedPaths {
    const key = `${method} ${template} ${old.status} ${newResponse?.status} ${oldSchema === undefined} ${newSchema === undefined}`;
    const existing = this.#recordedPaths.get(key);
    if (existing) return existing;
    const budget = { left: this.#recordedPaths.size < maxCombinations ? maxPaths : 0, isExceeded: false };
    const schemas = [schemaIn(this.#oldContract, oldSchema), schemaIn(this.#newContract, newSchema)] as const;
    const paths = { root: BodyPath.root(...schemas, budget), budget };
    paths.root.addListed();
    if (this.#recordedPaths.size < maxCombinations) this.#recordedPaths.set(key, paths);
    return paths;
  }

  /**
   * `invalid`: what each body violates in the contract of its version. Both bodies of a `control` pair are of the old version.
   * `changed`: what each body violates in the old contract; unlisted fields are accepted here. `narrowed`: where the new contract does
   * not accept the type of a value.
   */
  #compareContracts(
    { kind, old: { status } }: ResponsePair,
    [oldBody, newBody]: readonly [unknown, unknown],
    [oldSchema, newSchema]: readonly [Located | undefined, Located | undefined],
    root: BodyPath,
    into: Observation[],
  ): void {
    const violationsOf = (
      validator: 'open' | 'strict',
      contractSide: 'old' | 'new',
      body: unknown,
    ): Map<string, PlacedViolation> => {
      const [contract, schema] =
        contractSide === 'old' ? [this.#oldContract, oldSchema] : [this.#newContract, newSchema];
      const violations =
        schema && body !== undefined ? (contract[`${validator}Validator`]?.violations(schema, body) ?? []) : [];
      /** Path and rule → the violation. */
      const found = new Map<string, PlacedViolation>();
      for (const { keys, rule } of violations.slice(0, maxViolations)) {
        const path = pathTo(root, keys, body);
        const key = `${path.text} ${rule}`;
        found.set(key, { path, rule, count: (found.get(key)?.count ?? 0) + 1 });
      }
      return found;
    };
    const shareOf = (violation: PlacedViolation | undefined, body: unknown): number =>
      violation ? Math.min(1, violation.count / countJudgedValues(violation.path.text, body)) : 0;
    const invalid = [
      violationsOf('strict', 'old', oldBody),
      violationsOf('strict', kind === 'control' ? 'old' : 'new', newBody),
    ] as const;
    const changed = [violationsOf('open', 'old', oldBody), violationsOf('open', 'old', newBody)] as const;
    const isOfTwoVersions = kind === 'shadow' || kind === 'adapter';
    const ofTypes = (violations: Map<string, PlacedViolation>): Map<string, PlacedViolation> =>
      new Map([...violations].filter(([, { rule }]) => isTypeRule(rule)));
    const narrowed = isOfTwoVersions
      ? ([ofTypes(violationsOf('strict', 'new', oldBody)), ofTypes(invalid[1])] as const)
      : undefined;
    const invalidPaths = new Set([...invalid[1].values()].map(({ path }) => path));
    // Violations at these paths are counted as `invalid` already.
    for (const [key, { path }] of changed[1]) if (invalidPaths.has(path)) changed[1].delete(key);
    for (const [what, ofOld, ofNew] of [
      ['invalid', ...invalid],
      ['changed', ...changed],
      ...(narrowed ? [['narrowed', ...narrowed] as const] : []),
    ] as const) {
      for (const [key, { path, rule }] of new Map([...ofOld, ...ofNew])) {
        const shares = { oldShare: shareOf(ofOld.get(key), oldBody), newShare: shareOf(ofNew.get(key), newBody) };
        const { text, oldListing, newListing } = path;
        addObservation(into, { status, path: text, what, detail: rule, oldListing, newListing, ...shares });
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

function isTypeRule(rule: string): boolean {
  return rule.startsWith('type ');
}

/** The path of a violation. If it is not recorded: the nearest recorded path above it. */
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

/**
 * How many values of a body a rule at `pointer` applies to; at least 1. If `pointer` ends with `*`, these are all items or entries.
 * Otherwise they are the objects that may have the last field of `pointer`.
 */
function countJudgedValues(pointer: string, body: unknown): number {
  const keys = pointer.split('/').slice(1);
  const ownerKeys = keys.at(-1) === '*' ? keys : keys.slice(0, -1);
  let values = [body];
  for (const key of ownerKeys) {
    const name = memberName(key);
    values = values.flatMap((value) => {
      if (isList(value)) return key === '*' ? value : [];
      if (!isMap(value)) return [];
      return key === '*' ? Object.values(value) : Object.hasOwn(value, name) ? [value[name]] : [];
    });
  }
  return Math.max(1, values.length);
}

function descendantsOf(path: BodyPath): BodyPath[] {
  return [...path.children].flatMap((child) => [child, ...descendantsOf(child)]);
}

/** The statuses for a request that the contract does not allow. */
const invalidRequestStatuses: ReadonlySet<number> = new Set([400, 422]);

/** Evidence has the same words for statuses and for fields: `optional` means that the contract lists the status. */
function statusListing(
  { hasRoute, hasStatus }: ListedResponse,
  { isKnown }: ContractResponses,
): Observation['oldListing'] {
  if (!isKnown) return 'no schema';
  return hasRoute ? (hasStatus ? 'optional' : 'unlisted') : 'no route';
}

function schemaIn(contract: ContractResponses, place: Located | undefined) {
  try {
    return place && contract.schemaAt(place);
  } catch (error) {
    if (error instanceof CompareError) return undefined;
    throw error;
  }
}

function isAccessRefusal(status: number): boolean {
  return status === 401 || status === 403;
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function isBodiless({ status }: ComparedResponse): boolean {
  return status === 204 || status === 304;
}

/** `none`: the text is not a usual media type. The backend may have made it up, so it is not stored. */
function storedType(contentType: string | undefined): string {
  const type = bareType(contentType);
  return /^[\w.+-]{1,40}\/[\w.+-]{1,60}$/.test(type) ? type : 'none';
}
