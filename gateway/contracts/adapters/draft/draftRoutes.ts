import { whyMethodNotAdaptable } from '../../../config/rules/adapters.ts';
import type { Documents } from '../../../contract/document/documents.ts';
import { openContract } from '../../../contract/document/open.ts';
import { type Route, routesOf, withoutNames } from '../../../contract/routes.ts';
import { JsonSchemas } from '../../../contract/schema/jsonSchema.ts';
import { schemaPolicies } from '../../../contract/schema/policies.ts';
import { PathTable, translatePath, translateTemplate } from '../../../shared/pathTable.ts';
import { proposeMoved } from '../../compat/judge/moved.ts';
import { AdapterSide } from '../proof/adaptedParts.ts';

/** The version whose adapter is drafted, or the version whose backend answers. */
export interface DraftedVersion {
  /** `v1` */
  readonly name: string;
  /** The absolute path of its contract. */
  readonly file: string;
}

/**
 * The `moved` tables from the served version to the other one, one for each step to the next version, in order. A table maps a path
 * template to its new path; null: removed.
 */
export type MovedPathTables = readonly (readonly (readonly [template: string, value: string | null])[])[];

/** The contract of one of the two versions. */
export interface DraftSide {
  /** `/v1` */
  readonly name: string;
  readonly documents: Documents;
  readonly routes: readonly Route[];
  /** Finds routes, and makes contracts with a single operation, which are compared. */
  readonly adapterSide: AdapterSide;
  /** The schemas of the contract with its examples. `adapterSide` has the schemas without examples. */
  readonly schemas: JsonSchemas;
}

export async function openSide({ name, file }: DraftedVersion): Promise<DraftSide> {
  const documents = await openContract(file, { cwd: '.', stdin: () => '', allowRemote: false });
  return {
    name: `/${name}`,
    documents,
    routes: [...routesOf(documents, name).values()].filter(({ kind }) => kind === 'route'),
    adapterSide: new AdapterSide(documents, name),
    schemas: new JsonSchemas(documents, schemaPolicies.draft),
  };
}

/** The counterpart of a route in the other version, or the reason why there is none. */
export type Counterpart =
  | { readonly gone: string }
  | {
      readonly route: Route;
      /** The path of `route` with the parameter names of the served version. */
      readonly targetPathWithOwnNames: string;
      /** Why this is probably the counterpart; empty if it is certain. */
      readonly note: string;
    };

/** Finds the counterparts of routes: by the `moved` tables, by an equal path, then by the proposals of the command `moved`. */
export class Counterparts {
  readonly #tables: readonly PathTable<string | null>[];
  readonly #other: DraftSide;
  /** Key: a path of the served version. `to`: the proposed path of the other version. */
  readonly #proposals: ReadonlyMap<string, { readonly to: string; readonly note: string }>;

  constructor(own: DraftSide, other: DraftSide, movedPaths: MovedPathTables) {
    this.#tables = movedPaths.map((entries) => new PathTable(entries));
    this.#other = other;
    const { proposals } = proposeMoved({
      oldContract: own.documents,
      newContract: other.documents,
      from: own.name.slice(1),
      to: other.name.slice(1),
      isListed: (path) => this.#movedPath(path) !== path,
    });
    this.#proposals = new Map(
      proposals.map(({ from, to, confidence, why }) => [
        from,
        { to, note: `${to} is ${confidence}: ${why.join(', ')}` },
      ]),
    );
  }

  find({ method, path }: Route): Counterpart {
    const reason = whyMethodNotAdaptable(method);
    if (reason !== undefined) return { gone: reason };
    const otherName = this.#other.name.slice(1);
    const moved = this.#movedPath(path);
    if (moved === undefined) return { gone: `${otherName} has no counterpart of this route` };
    const proposal = moved === path ? this.#proposals.get(path) : undefined;
    const target = proposal ? withParameterNamesOf(path, proposal.to) : moved;
    const route = this.#other.adapterSide.find({ method, path: target });
    if (route) return { route, targetPathWithOwnNames: target, note: proposal?.note ?? '' };
    const isPathKnown = this.#other.routes.some((one) => withoutNames(one.path) === withoutNames(target));
    return {
      gone: isPathKnown
        ? `${otherName} has no ${method} for this route`
        : `${otherName} has no counterpart of this route`,
    };
  }

  /** The new path by the `moved` tables, or the same path if they do not list it. Undefined: they list it as removed. */
  #movedPath(path: string): string | undefined {
    let current = path;
    for (const table of this.#tables) {
      const match = table.find(current);
      if (match?.value === null) return undefined;
      if (match) current = translatePath(current, match.template, match.value) ?? match.value;
    }
    return current;
  }
}

/** The template `to` with the parameter names of the template `from`. */
function withParameterNamesOf(from: string, to: string): string {
  return translateTemplate(from, to) ?? to;
}
