import type { AdaptedRoute, AdapterSettings, OtherTypes } from '../../../config/adapterSettings.ts';
import { pathOfVersion, segmentOf } from '../../../config/api.ts';
import { byPlace, type Fault, type Path } from '../../../config/fault.ts';
import { type Snapshot, type Version, withVersions } from '../../../config/snapshot.ts';
import { faultAtKey, type Source, valueAt } from '../../../config/source.ts';
import type { ConfigResult } from '../../../config/validate.ts';
import type { Documents } from '../../../contract/document/documents.ts';
import { openContract } from '../../../contract/document/open.ts';
import { CompareError, catchingStackOverflow } from '../../../contract/failure.ts';
import type { Route } from '../../../contract/routes.ts';
import { membersOf } from '../../../shared/json.ts';
import { compareContracts } from '../../compat/diff/contracts.ts';
import { findingsOf } from '../../compat/judge/findings.ts';
import { defaultLevelOf } from '../../compat/rules/rules.ts';
import {
  type AdaptedPart,
  AdapterSide,
  type ApplyToSchema,
  adaptedRequest,
  adaptedResponses,
  entryFor,
  requestPartsOf,
  responsesIn,
} from './adaptedParts.ts';
import { type AdapterReport, judgeDifference } from './adapterFindings.ts';
import { withFormatsFrom } from './formats.ts';
import { prepareAdapter, responseMediaTypesOf } from './prepareAdapter.ts';
import { parameterSampleFault, requestFaults } from './requestCheck.ts';
import { sampleFault } from './sampledCheck.ts';
import { SchemaTransform } from './schemaTransform.ts';

/** How many values are generated for each kind of message of a route when the file is loaded: fewer if there are many routes. */
function samplesAtLoad(routeCount: number): number {
  return Math.max(20, Math.min(50, Math.floor(5000 / routeCount)));
}

/**
 * Compares both contracts of each adapter. The responses of the other version, after the operations, must be allowed by the
 * contract of the adapted version. The requests of the adapted version must be accepted by the other version. Adds faults,
 * warnings and `AdapterSettings.derivedFromContracts`. `samples`: generated values for each kind of message of a route; default: as at a load.
 */
export async function verifyAdapters(result: ConfigResult, samples?: number): Promise<ConfigResult> {
  const { snapshot, source } = result;
  if (!snapshot || !source) return result;
  const found = { faults: [] as Fault[], warnings: [...result.warnings] };
  const versions = new Map<string, Version>();
  for (const version of snapshot.sortedVersions) {
    const { adapter } = version;
    if (!adapter) continue;
    const check = new AdapterCheck(version, adapter, snapshot, source, samples ?? samplesAtLoad(adapter.routes.length));
    const preparedAdapter = await check.run();
    if (preparedAdapter) versions.set(version.name, { ...version, adapter: preparedAdapter });
    found.faults.push(...check.faults);
    found.warnings.push(...check.warnings);
  }
  if (found.faults.length > 0) return { source, snapshot: undefined, faults: found.faults.sort(byPlace), warnings: [] };
  return { source, snapshot: withVersions(snapshot, versions), faults: [], warnings: found.warnings.sort(byPlace) };
}

/** The check of one adapter. */
class AdapterCheck {
  readonly faults: Fault[] = [];
  readonly warnings: Fault[] = [];
  readonly #otherTypes = new Map<string, readonly string[]>();
  readonly #version: Version;
  readonly #adapter: AdapterSettings;
  readonly #snapshot: Snapshot;
  readonly #source: Source;
  readonly #sampleCount: number;

  constructor(version: Version, adapter: AdapterSettings, snapshot: Snapshot, source: Source, samples: number) {
    this.#version = version;
    this.#adapter = adapter;
    this.#snapshot = snapshot;
    this.#source = source;
    this.#sampleCount = samples;
  }

  /** The settings with `derivedFromContracts`. Undefined: there are faults, or a contract or the other version is missing. */
  async run(): Promise<AdapterSettings | undefined> {
    const version = this.#version;
    const from = this.#snapshot.versions.get(this.#adapter.from);
    if (!from) return undefined;
    const [own, other] = [await this.#side(version), await this.#side(from)];
    if (!own || !other) return undefined;
    const names = { own: `/${version.name}`, other: `/${from.name}` };
    for (const route of this.#adapter.routes) {
      if ('gone' in route) continue;
      const at = [...pathOfVersion(version.name), 'adapter', 'routes', `${route.method} ${route.path}`];
      const [ownRoute, otherRoute] = [own.find(route), other.find(route.to)];
      if (!ownRoute || !otherRoute) {
        const lacking = ownRoute
          ? `${names.other} has no route ${route.to.method} ${route.to.path}`
          : `${names.own} has no such route`;
        this.add(at, `The contract of ${lacking}.`, 'Correct the name of the route.');
        continue;
      }
      this.#orFault(at, () => {
        const check = new RouteCheck({ route, at, own, other, ownRoute, otherRoute }, names, this.#sampleCount, this);
        check.run();
        addTypes(this.#otherTypes, check.otherTypes);
      });
    }
    if (this.faults.length > 0) return undefined;
    const digests = [version, from].map(({ contract }) => contract?.digest ?? '');
    return this.#orFault([...pathOfVersion(version.name), 'adapter'], () => ({
      ...this.#adapter,
      derivedFromContracts: prepareAdapter(this.#adapter, { own, other }, digests, this.#otherTypes),
    }));
  }

  /** Undefined: the contracts cannot be compared, and a fault was added at `place`. */
  #orFault<Result>(place: Path, work: () => Result): Result | undefined {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof CompareError)) throw error;
      this.add(place, withoutRemedy(error), error.remedy);
      return undefined;
    }
  }

  /** `place`: in routes.yaml. */
  add(place: Path, message: string, remedy: string, isWarning = false): void {
    const fault = faultAtKey(this.#source, this.#writtenPlace(place), message, remedy);
    const list = isWarning ? this.warnings : this.faults;
    // Responses that share a schema have the same finding at the same place.
    if (!list.some((one) => one.line === fault.line && one.column === fault.column && one.message === fault.message))
      list.push(fault);
  }

  async #side({ name, contract }: Version): Promise<AdapterSide | undefined> {
    if (!contract) return undefined;
    try {
      const { folder } = this.#source;
      return new AdapterSide(
        await openContract(contract.file, { cwd: folder, stdin: () => '', allowRemote: false }),
        segmentOf(name),
      );
    } catch (error) {
      if (!(error instanceof CompareError)) throw error;
      this.add([...pathOfVersion(name), 'contract'], withoutRemedy(error), error.remedy);
      return undefined;
    }
  }

  /** The place as routes.yaml spells it: `4xx` or `default` may cover a status. Without such a row, the place of the route. */
  #writtenPlace(place: Path): Path {
    const index = place.indexOf('response');
    if (index === -1) return place;
    const rowNames = Object.keys(membersOf(valueAt(this.#source.tree, place.slice(0, index + 1))));
    const status = String(place[index + 1]);
    const written = entryFor(
      new Map(rowNames.map((name) => [name === 'default' ? name : name.toUpperCase(), name])),
      status,
    );
    return written === undefined ? place.slice(0, index) : place.with(index + 1, written);
  }
}

function withoutRemedy({ message, remedy }: CompareError): string {
  return message.replace(`  ${remedy}`, '');
}

export interface RouteToCheck {
  readonly route: AdaptedRoute;
  /** Its row in routes.yaml. */
  readonly at: Path;
  readonly own: AdapterSide;
  readonly other: AdapterSide;
  readonly ownRoute: Route;
  readonly otherRoute: Route;
}

/** Adds the types of an operation that applies to several statuses and media types. */
function addTypes(all: Map<string, readonly string[]>, found: OtherTypes): void {
  for (const [key, types] of found) all.set(key, [...new Set([...(all.get(key) ?? []), ...types])]);
}

/** The check of one adapted route. */
export class RouteCheck {
  readonly otherTypes = new Map<string, readonly string[]>();
  readonly #parts: RouteToCheck;
  readonly #names: { readonly own: string; readonly other: string };
  readonly #sampleCount: number;
  readonly #report: AdapterReport;
  #hasFaults = false;

  constructor(
    parts: RouteToCheck,
    names: { readonly own: string; readonly other: string },
    samples: number,
    report: AdapterReport,
  ) {
    this.#parts = parts;
    this.#names = names;
    this.#sampleCount = samples;
    this.#report = report;
  }

  /** @throws CompareError for a `$ref` without a target, and for schemas nested too deeply */
  run(): void {
    const { method, path } = this.#parts.route;
    catchingStackOverflow(`${method} ${path}`, () => this.#run());
  }

  #run(): void {
    const { route, own, other, ownRoute, otherRoute, at } = this.#parts;
    const responses = { own: responsesIn(ownRoute, own), others: responsesIn(otherRoute, other) };
    const appliedOperations = [...responses.others.keys()].map((status) => entryFor(route.responses, status));
    // A row with operations is faulty if it applies to no response that the other version declares.
    for (const [status, operations] of route.responses) {
      // The status of the row may also be within a declared range, such as `404` within `4XX`.
      const applies = appliedOperations.includes(operations) || entryFor(responses.others, status) !== undefined;
      if (operations.length === 0 || applies) continue;
      const message = `${this.#names.other} declares no response ${status} for this route.`;
      this.#fault([...at, 'response', status], message, 'Remove the row, or correct its status.');
    }
    for (const { status, type, hasNoOperations } of responseMediaTypesOf(route, responses).unadaptable) {
      const message = `${this.#names.other} may answer ${status} with ${type}, which operations cannot change.`;
      const remedy = hasNoOperations
        ? 'Remove the row, so that bodies are passed on unchanged.'
        : `Remove the media type from the contract of ${this.#names.other} if it is not used, or mark the route as gone, with the reason.`;
      this.#fault([...at, 'response', status], message, remedy);
    }
    const adapted = adaptedResponses(
      route,
      responses,
      (status) => [...at, 'response', status],
      this.#applyFrom(other, own),
    );
    if (!this.#hasFaults) {
      const ownResponses = { responses: Object.fromEntries(responses.own) };
      const adaptedResponse = { responses: Object.fromEntries(adapted) };
      const documents = [
        own.withOperation('response', { ...route, name: this.#names.own }, ownResponses),
        other.withOperation('response', { ...route, name: this.#names.other }, adaptedResponse),
      ] as const;
      this.#compare(documents, 'response');
    }
    // A fault of the responses does not end the comparison of the requests.
    this.#hasFaults = false;
    const requestParts = { own: requestPartsOf(ownRoute, own), other: requestPartsOf(otherRoute, other) };
    const sent = adaptedRequest(route, requestParts, (part) => [...at, 'request', part], this.#applyFrom(own, other));
    const requestToCheck = {
      ...requestParts,
      route,
      at,
      sent: sent.parameters,
      names: this.#names,
      validators: { own: own.validators.request, other: other.validators.request },
      sampleCount: this.#sampleCount,
    };
    for (const { place, message, remedy } of requestFaults(requestToCheck)) this.#fault(place, message, remedy);
    if (this.#hasFaults) return;
    for (const where of ['path', 'query', 'header', 'cookie'] as const) {
      const message = parameterSampleFault(requestToCheck, where);
      if (message !== undefined)
        this.#sampleFaults.push({ place: [...at, 'request', where], direction: 'request', message });
    }
    const { parameters, body, security } = requestParts.other;
    const accepted = {
      ...security,
      parameters: [...parameters.values()],
      ...(body ? { requestBody: body } : {}),
      responses: {},
    };
    const path = otherRoute.path;
    this.#compare(
      [
        own.withOperation('request', { ...route, path, name: this.#names.own }, sent),
        other.withOperation('request', { ...route, path, name: this.#names.other }, accepted),
      ],
      'request',
    );
  }

  /** Returns a function that applies the operations of a part to its schema, and checks generated values. */
  #applyFrom(from: AdapterSide, to: AdapterSide): ApplyToSchema {
    return (part) => {
      const { direction } = part;
      const { named } = from.schemas[direction];
      const validators = { from: from.validators[direction], to: to.validators[direction] };
      const transform = new SchemaTransform(named, (schema, value) => validators.from.isValid(schema, value));
      const applied = transform.apply(part.from, part.operations);
      const result = part.to === undefined ? applied : withFormatsFrom(applied, part.to, to.schemas[direction].named);
      addTypes(this.otherTypes, transform.otherTypes);
      for (const { operation, message, remedy, isWarning } of transform.problems) {
        if (isWarning) this.#report.add(operation.place, message, remedy, true);
        else this.#fault(operation.place, message, remedy);
      }
      const isFaulty = transform.problems.some(({ isWarning }) => !isWarning);
      const message = isFaulty
        ? undefined
        : sampleFault(part, named, validators, transform.otherTypes, this.#sampleCount);
      if (message !== undefined) this.#sampleFaults.push({ ...part, message });
      return result;
    };
  }

  /** The faults that generated values have shown. */
  readonly #sampleFaults: (Pick<AdaptedPart, 'place' | 'direction'> & { readonly message: string })[] = [];

  #compare([old, now]: readonly [old: Documents, now: Documents], direction: AdaptedPart['direction']): void {
    const { at } = this.#parts;
    const sampleFaults = this.#sampleFaults.filter((one) => one.direction === direction);
    const differences = findingsOf(compareContracts(old, now, defaultLevelOf)).flatMap(
      (finding) => judgeDifference(finding, direction, this.#names) ?? [],
    );
    for (const { message, remedy, isWarning, place } of differences) {
      const where = direction === 'response' ? ['response', ...place] : ['request', ...place];
      if (isWarning) this.#report.add([...at, ...where], message, remedy, true);
      else this.#fault([...at, ...where], message, remedy);
    }
    // Generated values would only show the same faults again, less exactly.
    if (differences.some(({ isWarning }) => !isWarning)) return;
    for (const { place, message } of sampleFaults)
      this.#fault(
        place,
        message,
        `Correct the operations, or limit the values in the contract of ${direction === 'response' ? this.#names.other : this.#names.own}.`,
      );
  }

  #fault(place: Path, message: string, remedy: string): void {
    this.#hasFaults = true;
    this.#report.add(place, message, remedy);
  }
}
