import { segmentOf } from '../../../config/api.ts';
import type { Documents } from '../../../contract/document/documents.ts';
import { below, entriesOf, itemsOf, type Located } from '../../../contract/document/located.ts';
import { openContract } from '../../../contract/document/open.ts';
import { CompareError } from '../../../contract/failure.ts';
import { type Route, routesOf } from '../../../contract/routes.ts';
import type { Schema } from '../../../contract/schema/schema.ts';
import { Schemas } from '../../../contract/schema/schemas.ts';
import { isMap } from '../../../shared/json.ts';
import { ResponseValidator } from './validation.ts';

/** What a contract states about one response. */
export interface ListedResponse {
  readonly hasRoute: boolean;
  readonly hasStatus: boolean;
  readonly hasMedia: boolean;
  /** The schema of the body; undefined: the contract has none. */
  readonly schema: Located | undefined;
}

// Remembered look-ups. They are limited, because a backend may send a different media type with each response.
const maxListed = 10_000;

const unlisted: ListedResponse = { hasRoute: false, hasStatus: false, hasMedia: false, schema: undefined };

/** Looks up the responses that one contract lists, and validates bodies with their schemas. */
export class ContractResponses {
  /** Undefined: the version has no contract, or it cannot be read. */
  readonly #documents: Documents | undefined;
  readonly #routes: ReadonlyMap<string, Route>;
  readonly #schemas: Schemas | undefined;
  /** Method, template, status and media type → what the contract states. */
  readonly #listed = new Map<string, ListedResponse>();
  /** Accepts unlisted fields, even if `additionalProperties` is false. */
  readonly openValidator: ResponseValidator | undefined;
  /** Rejects unlisted fields if `additionalProperties` is false. */
  readonly strictValidator: ResponseValidator | undefined;

  /** `version`: its segment is removed from the start of the paths in the contract. */
  constructor(documents: Documents | undefined, version: string) {
    this.#documents = documents;
    this.#routes = documents ? routesOf(documents, segmentOf(version)) : new Map();
    this.#schemas = documents && new Schemas(documents);
    this.openValidator = documents && new ResponseValidator(documents, { isOpen: true });
    this.strictValidator = documents && new ResponseValidator(documents, { isOpen: false });
  }

  /** A contract that cannot be read counts as missing: only the shapes of the responses are compared then. */
  static async read(file: string | undefined, version: string): Promise<ContractResponses> {
    if (file === undefined) return new ContractResponses(undefined, version);
    const options = { cwd: process.cwd(), stdin: () => '', allowRemote: false };
    try {
      return new ContractResponses(await openContract(file, options), version);
    } catch (error) {
      if (error instanceof CompareError) return new ContractResponses(undefined, version);
      throw error;
    }
  }

  /** Whether there is a contract that can be read. */
  get isKnown(): boolean {
    return this.#documents !== undefined;
  }

  /** `template`: a path of the contract without the version. If the contract has no HEAD for it, GET applies. */
  listedResponse(method: string, template: string | undefined, status: number, media: string): ListedResponse {
    const key = `${method} ${template} ${status} ${media}`;
    const remembered = this.#listed.get(key);
    if (remembered) return remembered;
    const route = this.#routeOf(method, template);
    const listed = route ? this.#responseOf(route, status, media) : unlisted;
    if (this.#listed.size < maxListed) this.#listed.set(key, listed);
    return listed;
  }

  /** The parameters that a request must have, except those of the path: `query base`, for example. */
  requiredParameters(method: string, template: string | undefined): ReadonlySet<string> {
    const route = this.#routeOf(method, template);
    /** `query base` → whether it is required. */
    const isRequiredByName = new Map<string, boolean>();
    for (const holder of route ? [route.item, route.operation] : []) {
      for (const written of itemsOf(below(holder, 'parameters'))) {
        const parameter = this.#resolved(written);
        const [place, name] = ['in', 'name'].map((key) => parameter && below(parameter, key).value);
        const isRequired = parameter !== undefined && below(parameter, 'required').value === true;
        // A parameter of the operation replaces that of its path.
        if (place !== 'path')
          isRequiredByName.set(`${place} ${place === 'header' ? String(name).toLowerCase() : name}`, isRequired);
      }
    }
    return new Set([...isRequiredByName].flatMap(([name, isRequired]) => (isRequired ? [name] : [])));
  }

  #routeOf(method: string, template: string | undefined): Route | undefined {
    const methods = method === 'HEAD' ? ['HEAD', 'GET'] : [method];
    return methods.map((one) => this.#routes.get(`route ${one} ${template}`)).find((route) => route !== undefined);
  }

  #resolved(written: Located): Located | undefined {
    try {
      return this.#documents?.resolve(written);
    } catch (error) {
      if (error instanceof CompareError) return undefined;
      throw error;
    }
  }

  /** The schema at a place of the contract. @throws CompareError for a broken `$ref` */
  schemaAt(place: Located): Schema | undefined {
    return this.#schemas?.schemaAt(place);
  }

  #responseOf({ operation }: Route, status: number, media: string): ListedResponse {
    try {
      const responses = new Map(
        entriesOf(below(operation, 'responses')).map(([name, response]) => [name.toUpperCase(), response]),
      );
      const written =
        responses.get(String(status)) ?? responses.get(`${Math.floor(status / 100)}XX`) ?? responses.get('DEFAULT');
      if (written === undefined || this.#documents === undefined) return { ...unlisted, hasRoute: true };
      const content = entriesOf(below(this.#documents.resolve(written), 'content'));
      const types = new Map(content.map(([type, located]) => [bareType(type), located]));
      const matching = types.get(media) ?? types.get(`${media.split('/')[0]}/*`) ?? types.get('*/*');
      const similar = isJsonMedia(media) ? [...types].find(([type]) => isJsonMedia(type))?.[1] : undefined;
      const found = matching ?? similar;
      const schema = found && below(this.#documents.resolve(found), 'schema');
      const isUsable = isMap(schema?.value) || typeof schema?.value === 'boolean';
      return {
        hasRoute: true,
        hasStatus: true,
        hasMedia: matching !== undefined,
        schema: isUsable ? schema : undefined,
      };
    } catch (error) {
      if (error instanceof CompareError) return { ...unlisted, hasRoute: true };
      throw error;
    }
  }
}

/** `application/json; charset=utf-8` → `application/json` */
export function bareType(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

export function isJsonMedia(media: string): boolean {
  return media === 'application/json' || media === 'text/json' || /^[\w.-]+\/[\w.-]+\+json$/.test(media);
}
