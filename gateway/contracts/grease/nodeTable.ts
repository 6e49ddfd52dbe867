import {
  type AlternativeForm,
  alternativesOf,
  inAllCombinations,
  listOf,
  TooManyAlternatives,
} from '../../contract/schema/alternatives.ts';
import type { NamedSchemas, SubSchema } from '../../contract/schema/jsonSchema.ts';
import { type PlainSchema, refPrefix } from '../../contract/schema/jsonSchema.ts';
import { isMap } from '../../shared/json.ts';
import { listedValuesOf, propertiesOf } from '../adapters/proof/branches.ts';
import { noNode, type PlanNode } from './splice.ts';

/** Schemas that one value satisfies at the same time, such as the parts of an `allOf`. */
type Alternative = readonly PlainSchema[];

type Alternatives = readonly Alternative[];

const maxNodes = 50_000;

/** Constraints that may depend on any member of a value, or on its text. Nothing in a value with such a constraint is changed. */
const opaqueKeys = 'not if then else dependentSchemas patternProperties enum const contains contentSchema'.split(' ');

/** What is done with the values at one place of a body. Numbers are ids of nodes, or `noNode`. */
interface MutableNode {
  /** Whether an object at this place gets an unknown member. */
  getsMember: boolean;
  members: [name: string, node: number][];
  /** The node of the members that `members` does not name. */
  others: number;
  items: number;
}

/** The nodes of a grease plan, which tells where responses get unknown members. Places with the same alternatives share a node, so a recursive schema has a limited number of nodes. */
export class NodeTable {
  readonly #named: NamedSchemas;
  readonly #schemaIds = new Map<unknown, number>();
  /** Key: the ids of the schemas of all alternatives, as one text. Value: the id of the node for these alternatives. */
  readonly #ids = new Map<string, number>();
  readonly #form: AlternativeForm<Alternative> = {
    of: (schema) => [schema],
    both: (one, other) => [...one, ...other],
    ofDiscriminator: (schema, seenRefs) => this.#subtypes(schema, seenRefs),
  };
  /** The index is the id of the node. */
  readonly #alternatives: (readonly Alternative[])[] = [];
  readonly #nodes: MutableNode[] = [];
  /** The index is the id of a node. The value is its index in `planNodes`, or `noNode`. */
  #planIndexes: readonly number[] = [];

  constructor(named: NamedSchemas) {
    this.#named = named;
  }

  /** The id of the node for values of a schema. `noNode`: nothing is known about them. */
  idForSchema(schema: SubSchema): number {
    return this.#idFor(() => this.#alternativesOf(schema));
  }

  /** `noNode` also if there are too many alternatives. */
  #idFor(find: () => Alternatives): number {
    try {
      return this.#idOf(find());
    } catch (error) {
      if (error instanceof TooManyAlternatives) return noNode;
      throw error;
    }
  }

  /** The id of the node for these alternatives. `noNode`: nothing is known about the value. */
  #idOf(alternatives: Alternatives): number {
    if (alternatives.length === 0) return noNode;
    const keys = alternatives.map((schemas) => [...new Set(schemas.map((one) => this.#schemaId(one)))].sort().join());
    const key = [...new Set(keys)].sort().join('|');
    const existingId = this.#ids.get(key);
    if (existingId !== undefined) return existingId;
    if (this.#alternatives.length >= maxNodes) return noNode;
    const id = this.#alternatives.push(alternatives) - 1;
    this.#ids.set(key, id);
    return id;
  }

  /** Makes the nodes for all ids that `idForSchema` has returned, and for the places below them. */
  buildNodes(): void {
    for (let id = this.#nodes.length; id < this.#alternatives.length; id += 1) {
      this.#nodes.push(this.#nodeOf(this.#alternatives[id] ?? []));
    }
    const useful = usefulNodes(this.#nodes);
    let count = 0;
    this.#planIndexes = this.#nodes.map((_node, id) => (useful[id] ? count++ : noNode));
  }

  /** The index of a node in `planNodes`. `noNode`: nothing changes at the node or below it. */
  planIndexOf(id: number): number {
    return this.#planIndexes[id] ?? noNode;
  }

  /** The nodes at or below which something changes. */
  planNodes(): PlanNode[] {
    return this.#nodes.flatMap(({ getsMember, members, others, items }, id) => {
      if (this.planIndexOf(id) === noNode) return [];
      const planMembers = members.map(([name, child]): [string, number] => [name, this.planIndexOf(child)]);
      return [{ getsMember, members: planMembers, others: this.planIndexOf(others), items: this.planIndexOf(items) }];
    });
  }

  #schemaId(schema: PlainSchema): number {
    const id = this.#schemaIds.get(schema) ?? this.#schemaIds.size;
    this.#schemaIds.set(schema, id);
    return id;
  }

  #alternativesOf(schema: SubSchema, seenRefs: readonly string[] = []): Alternatives {
    return alternativesOf(schema, this.#named, this.#form, seenRefs);
  }

  /** A value of a schema with a discriminator may be a value of a subtype: a named schema whose `allOf` refers to the schema. */
  #subtypes(schema: PlainSchema, seenRefs: readonly string[]): Alternatives {
    const base = Object.entries(this.#named).find(([, one]) => one === schema)?.[0];
    const baseRef = `${refPrefix}${base}`;
    const refersToBase = (one: SubSchema): boolean => typeof one === 'object' && this.#leadsTo(one['$ref'], baseRef);
    const subtypes = Object.entries(this.#named).filter(
      ([, one]) => typeof one === 'object' && listOf(one['allOf']).some(refersToBase),
    );
    const refs = subtypes.map(([name]) => `${refPrefix}${name}`);
    // The schema was reached from one of its subtypes, so the value has that subtype. `[[]]` adds no constraint.
    if (refs.some((ref) => seenRefs.includes(ref))) return [[]];
    return [[], ...refs.flatMap(($ref) => this.#alternativesOf({ $ref }, [...seenRefs, baseRef]))];
  }

  /** Whether a `$ref` is `target`, or names a schema whose own `$ref` leads to it. */
  #leadsTo(ref: unknown, target: string, seen: readonly unknown[] = []): boolean {
    if (typeof ref !== 'string' || seen.includes(ref)) return false;
    const named = this.#named[ref.slice(refPrefix.length)];
    return ref === target || (typeof named === 'object' && this.#leadsTo(named['$ref'], target, [...seen, ref]));
  }

  #nodeOf(alternatives: readonly Alternative[]): MutableNode {
    const objects = alternatives.filter((schemas) => allows(schemas, 'object'));
    const arrays = alternatives.filter((schemas) => allows(schemas, 'array'));
    const isOpaque = [...objects, ...arrays].flat().some((schema) => opaqueKeys.some((key) => hasKey(schema, key)));
    if (isOpaque) return { getsMember: false, members: [], others: noNode, items: noNode };
    const names = new Set(objects.flat().flatMap((schema) => Object.keys(propertiesOf(schema))));
    return {
      getsMember: objects.length > 0 && objects.every(isDescribedAndOpen),
      // If an alternative lists properties without this name, its values are assumed to lack this member.
      members: [...names].map((name) => [
        name,
        this.#childNodeId(objects, (schema) => memberSchemas(schema, name), listsProperties),
      ]),
      others: this.#childNodeId(objects, additionalSchemas),
      items: this.#childNodeId(arrays, itemSchemas),
    };
  }

  /**
   * The id of the node for a child, which is a member or an item of a value with `alternatives`. An alternative may have no schema
   * for the child. If `mayLackChild` is true for the alternative, its values are assumed to lack the child. Otherwise the result is
   * `noNode`: nothing is known about the child.
   */
  #childNodeId(
    alternatives: readonly Alternative[],
    schemasOf: (schema: PlainSchema) => readonly ChildSchema[],
    mayLackChild: (schemas: Alternative) => boolean = () => false,
  ): number {
    const schemasOfChildren = alternatives.map((schemas) => schemas.flatMap(schemasOf));
    const isUnknown = schemasOfChildren.some(
      (schemas, index) => schemas.length === 0 && !mayLackChild(alternatives[index] ?? []),
    );
    if (isUnknown) return noNode;
    const children = schemasOfChildren.filter((schemas) => schemas.length > 0);
    return this.#idFor(() =>
      children.flatMap((schemas) =>
        inAllCombinations(
          schemas.map((one) => this.#alternativesOfChild(one)),
          this.#form,
        ),
      ),
    );
  }

  #alternativesOfChild(one: ChildSchema): Alternatives {
    return [one].flat().flatMap((schema) => this.#alternativesOf(schema));
  }
}

/** A schema, or a list of schemas of which one applies. */
type ChildSchema = SubSchema | readonly SubSchema[];

function memberSchemas(schema: PlainSchema, name: string): readonly ChildSchema[] {
  const properties = propertiesOf(schema);
  return Object.hasOwn(properties, name) ? [properties[name] ?? true] : additionalSchemas(schema);
}

function additionalSchemas(schema: PlainSchema): readonly ChildSchema[] {
  return [schema['additionalProperties'], schema['unevaluatedProperties']].filter(isMap);
}

/** The schemas of the items of an array. The items of a tuple are treated as alternatives of each other. */
function itemSchemas(schema: PlainSchema): readonly ChildSchema[] {
  const { items, prefixItems, additionalItems, unevaluatedItems } = schema;
  const tupleItems = [...listOf(prefixItems), ...listOf(items)];
  const otherItems = [Array.isArray(items) ? additionalItems : items, unevaluatedItems].filter(isMap);
  return tupleItems.length === 0 ? otherItems : [[...tupleItems, ...otherItems]];
}

function allows(schemas: Alternative, type: 'object' | 'array'): boolean {
  return schemas.every((schema) => {
    const allowsContainer =
      listedValuesOf(schema)?.some((value) => typeof value === 'object' && value !== null) ?? true;
    return allowsContainer && (schema['type'] === undefined || [schema['type']].flat().includes(type));
  });
}

/** Whether an object is described by `properties`, and is neither a map nor closed. */
function isDescribedAndOpen(schemas: Alternative): boolean {
  const isOpen = schemas.every(
    (schema) =>
      (schema['additionalProperties'] ?? true) === true &&
      (schema['unevaluatedProperties'] ?? true) === true &&
      !hasKey(schema, 'propertyNames') &&
      !hasKey(schema, 'maxProperties'),
  );
  return isOpen && listsProperties(schemas);
}

function listsProperties(schemas: Alternative): boolean {
  return schemas.some((schema) => Object.keys(propertiesOf(schema)).length > 0);
}

function hasKey(schema: PlainSchema, key: string): boolean {
  return Object.hasOwn(schema, key);
}

/** For each node: whether something changes at the node or below it. */
function usefulNodes(nodes: readonly MutableNode[]): readonly boolean[] {
  const parents = nodes.map((): number[] => []);
  for (const [id, { members, others, items }] of nodes.entries()) {
    for (const child of [...members.map(([, node]) => node), others, items]) parents[child]?.push(id);
  }
  const useful = nodes.map(({ getsMember }) => getsMember);
  const waiting = [...useful.keys()].filter((id) => useful[id]);
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    for (const parent of parents[id] ?? []) {
      if (useful[parent]) continue;
      useful[parent] = true;
      waiting.push(parent);
    }
  }
  return useful;
}
