import { compareContracts } from '../compat/diff/contracts.ts';
import type { Route } from '../compat/diff/routes.ts';
import type { Documents } from '../compat/document/documents.ts';
import { openContract } from '../compat/document/open.ts';
import { CompareError } from '../compat/failure.ts';
import { findingsOf } from '../compat/judge/findings.ts';
import { levelOf } from '../compat/rules/rules.ts';
import type { AdaptedRoute, AdapterSettings } from '../config/adapterSettings.ts';
import { byPlace, type Fault, type Path } from '../config/fault.ts';
import { type Snapshot, type Version, withVersions } from '../config/snapshot.ts';
import { faultAt, type Source, valueAt } from '../config/source.ts';
import type { ConfigResult } from '../config/validate.ts';
import { judged } from './adapterFindings.ts';
import { withFormats } from './formats.ts';
import {
  AdapterSide,
  type ApplyToSchema,
  adaptedRequest,
  adaptedResponses,
  entryFor,
  type Passage,
  requestPartsOf,
  responsesIn,
} from './passages.ts';
import { negotiationOf, prepareAdapter } from './prepareAdapter.ts';
import { requestFaults, writingFault } from './requestCheck.ts';
import { sampleFault } from './sampledCheck.ts';
import { SchemaTransform } from './schemaTransform.ts';

/** The number of generated values that each route is checked with when the file is loaded. Many routes get fewer each. */
function samplesAtLoad(routes: number): number {
  return Math.max(20, Math.min(50, Math.floor(5000 / routes)));
}

/**
 * Compares the contracts of each version with an adapter: a response of the other version, after the operations, must be one
 * that the version's contract allows, and the other version must accept its requests. Adds the faults and warnings, and what
 * requests need (`AdapterSettings.prepared`). `samples`: generated values for each route; undefined: as many as at a load.
 */
export async function verifyAdapters(result: ConfigResult, samples?: number): Promise<ConfigResult> {
  const { snapshot, source } = result;
  if (!snapshot || !source) return result;
  const found = { faults: [] as Fault[], warnings: [...result.warnings] };
  const prepared = new Map<string, Version>();
  for (const version of snapshot.byMajor) {
    const { adapter } = version;
    if (!adapter) continue;
    const check = new AdapterCheck(version, adapter, snapshot, source, samples ?? samplesAtLoad(adapter.routes.length));
    const complete = await check.run();
    if (complete) prepared.set(version.name, { ...version, adapter: complete });
    found.faults.push(...check.faults);
    found.warnings.push(...check.warnings);
  }
  if (found.faults.length > 0) return { source, snapshot: undefined, faults: found.faults.sort(byPlace), warnings: [] };
  return { source, snapshot: withVersions(snapshot, prepared), faults: [], warnings: found.warnings.sort(byPlace) };
}

/** The check of one adapter. */
class AdapterCheck {
  readonly faults: Fault[] = [];
  readonly warnings: Fault[] = [];
  readonly #version: Version;
  readonly #adapter: AdapterSettings;
  readonly #snapshot: Snapshot;
  readonly #source: Source;
  readonly #samples: number;

  constructor(version: Version, adapter: AdapterSettings, snapshot: Snapshot, source: Source, samples: number) {
    this.#version = version;
    this.#adapter = adapter;
    this.#snapshot = snapshot;
    this.#source = source;
    this.#samples = samples;
  }

  /** The settings with what requests need; undefined if there are faults. */
  async run(): Promise<AdapterSettings | undefined> {
    const version = this.#version;
    const from = this.#snapshot.versions.get(this.#adapter.from);
    if (!from) return undefined;
    const [own, other] = [await this.#side(version), await this.#side(from)];
    if (!own || !other) return undefined;
    for (const route of this.#adapter.routes) {
      if ('gone' in route) continue;
      const at = ['routes', `/${version.name}`, 'adapter', 'routes', `${route.method} ${route.path}`];
      const [ownRoute, otherRoute] = [own.find(route), other.find(route.to)];
      if (!ownRoute || !otherRoute) continue;
      try {
        new RouteCheck({ route, at, own, other, ownRoute, otherRoute }, this.#names(from), this.#samples, this).run();
      } catch (error) {
        if (!(error instanceof CompareError)) throw error;
        this.add(at, withoutRemedy(error), error.remedy);
      }
    }
    if (this.faults.length > 0) return undefined;
    const digests = [version, from].map(({ contract }) => contract?.digest ?? '');
    return { ...this.#adapter, prepared: prepareAdapter(this.#adapter, { own, other }, digests) };
  }

  /** `place`: in routes.yaml. */
  add(place: Path, message: string, remedy: string, isWarning = false): void {
    const fault = faultAt(this.#source, this.#writtenPlace(place), message, remedy, 'key');
    const list = isWarning ? this.warnings : this.faults;
    // Responses that share a schema have the same finding at the same place.
    if (!list.some((one) => one.line === fault.line && one.column === fault.column && one.message === fault.message))
      list.push(fault);
  }

  #names(from: Version): { readonly own: string; readonly other: string } {
    return { own: `/${this.#version.name}`, other: `/${from.name}` };
  }

  async #side({ name, contract }: Version): Promise<AdapterSide | undefined> {
    if (!contract) return undefined;
    try {
      const { folder } = this.#source;
      return new AdapterSide(
        await openContract(contract.file, { cwd: folder, stdin: () => '', allowRemote: false }),
        name,
      );
    } catch (error) {
      if (!(error instanceof CompareError)) throw error;
      this.add(['routes', `/${name}`, 'contract'], withoutRemedy(error), error.remedy);
      return undefined;
    }
  }

  /**
   * A status may be written as `4xx`, and a row for all statuses as `default`. If routes.yaml has no such row, this is the place
   * of the route.
   */
  #writtenPlace(place: Path): Path {
    const index = place.indexOf('response');
    if (index === -1) return place;
    const rows = valueAt(this.#source.tree, place.slice(0, index + 1));
    const status = String(place[index + 1]);
    const names = typeof rows === 'object' && rows !== null ? Object.keys(rows) : [];
    const written = entryFor(
      new Map(names.map((name) => [name === 'default' ? name : name.toUpperCase(), name])),
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

/** The check of one adapted route. */
export class RouteCheck {
  readonly #parts: RouteToCheck;
  readonly #names: { readonly own: string; readonly other: string };
  readonly #samples: number;
  readonly #report: Pick<AdapterCheck, 'add'>;
  #hasFaults = false;

  constructor(
    parts: RouteToCheck,
    names: { readonly own: string; readonly other: string },
    samples: number,
    report: Pick<AdapterCheck, 'add'>,
  ) {
    this.#parts = parts;
    this.#names = names;
    this.#samples = samples;
    this.#report = report;
  }

  run(): void {
    const { route, own, other, ownRoute, otherRoute, at } = this.#parts;
    const responses = { own: responsesIn(ownRoute, own), others: responsesIn(otherRoute, other) };
    const answered = [...responses.others.keys()].map((status) => entryFor(route.responses, status));
    for (const [status, operations] of route.responses) {
      if (operations.length === 0 || answered.includes(operations) || entryFor(responses.others, status)) continue;
      const message = `${this.#names.other} declares no response ${status} for this route.`;
      this.#fault([...at, 'response', status], message, 'Remove the row, or correct its status.');
    }
    for (const { status, type, hasEmptyRow } of negotiationOf(route, responses).unadaptable) {
      const message = `${this.#names.other} may answer ${status} with ${type}, which operations cannot change.`;
      const remedy = hasEmptyRow
        ? 'Remove the row, so that bodies are passed on unchanged.'
        : `Remove the media type from the contract of ${this.#names.other} if it is not used, or write gone: with the reason.`;
      this.#fault([...at, 'response', status], message, remedy);
    }
    const adapted = adaptedResponses(
      route,
      responses,
      (status) => [...at, 'response', status],
      this.#applied(other, own),
    );
    if (!this.#hasFaults) {
      const documents = [
        own.withOperation(
          'response',
          { ...route, name: this.#names.own },
          { responses: Object.fromEntries(responses.own) },
        ),
        other.withOperation(
          'response',
          { ...route, name: this.#names.other },
          { responses: Object.fromEntries(adapted) },
        ),
      ] as const;
      this.#compare(documents, 'response');
    }
    this.#hasFaults = false;
    const requests = { own: requestPartsOf(ownRoute, own), other: requestPartsOf(otherRoute, other) };
    const sent = adaptedRequest(route, requests, (part) => [...at, 'request', part], this.#applied(own, other));
    const request = {
      ...requests,
      route,
      at,
      sent: sent.parameters,
      names: this.#names,
      validators: { own: own.validators.request, other: other.validators.request },
      samples: this.#samples,
    };
    for (const { place, message, remedy } of requestFaults(request)) this.#fault(place, message, remedy);
    if (this.#hasFaults) return;
    for (const where of ['path', 'query'] as const) {
      const message = writingFault(request, where);
      if (message !== undefined)
        this.#sampled.push({ place: [...at, 'request', where], direction: 'request', message });
    }
    const { parameters, body, security } = requests.other;
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

  /** Applies the operations of a passage to its schema, and checks generated values. */
  #applied(from: AdapterSide, to: AdapterSide): ApplyToSchema {
    return (passage) => {
      const { direction } = passage;
      const { named } = from.bundles[direction];
      const validators = { from: from.validators[direction], to: to.validators[direction] };
      const transform = new SchemaTransform(named, (schema, value) => validators.from.isValid(schema, value));
      const applied = transform.apply(passage.from, passage.operations);
      const result = passage.to === undefined ? applied : withFormats(applied, passage.to, to.bundles[direction].named);
      for (const { operation, message, remedy, isWarning } of transform.problems) {
        if (isWarning) this.#report.add(operation.place, message, remedy, true);
        else this.#fault(operation.place, message, remedy);
      }
      const isFaulty = transform.problems.some(({ isWarning }) => !isWarning);
      const sampled = isFaulty ? undefined : sampleFault(passage, named, validators, this.#samples);
      if (sampled !== undefined) this.#sampled.push({ ...passage, message: sampled });
      return result;
    };
  }

  readonly #sampled: (Pick<Passage, 'place' | 'direction'> & { readonly message: string })[] = [];

  #compare([old, now]: readonly [old: Documents, now: Documents], direction: Passage['direction']): void {
    const { at } = this.#parts;
    const sampled = this.#sampled.filter((one) => one.direction === direction);
    const faults = findingsOf(compareContracts(old, now, levelOf)).flatMap(
      (finding) => judged(finding, direction, this.#names) ?? [],
    );
    for (const { message, remedy, isWarning, place } of faults) {
      const where = direction === 'response' ? ['response', ...place] : ['request', ...place];
      if (isWarning) this.#report.add([...at, ...where], message, remedy, true);
      else this.#fault([...at, ...where], message, remedy);
    }
    // The fault of a generated value would be the same fault, described less exactly.
    if (faults.some(({ isWarning }) => !isWarning)) return;
    for (const { place, message } of sampled)
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
