import type { AdaptedRoute, Operation, ParameterForm, ParameterForms } from '../../../config/adapterSettings.ts';
import { listOf, TooManyAlternatives } from '../../../contract/schema/alternatives.ts';
import type { NamedSchemas, PlainSchema, SubSchema } from '../../../contract/schema/jsonSchema.ts';
import { membersOf } from '../../../shared/json.ts';
import { branchesOf, propertiesOf, requiredOf, typesOf } from './branches.ts';
import { withFormatsFrom } from './formats.ts';
import type { PlainPart } from './plainParts.ts';

// The parameters of a path, or those of a query, as an object that operations change.

export type ParameterPlace = 'path' | 'query';

/** The parameters of a route in a contract, and the named schemas that their schemas refer to. */
export interface ParameterParts {
  /** Key: place and name, such as `query limit`. */
  readonly parameters: ReadonlyMap<string, PlainPart>;
  readonly named: NamedSchemas;
}

/**
 * The schema of an object with the parameters of one place. The keyword `x-parameter` of a property describes how the parameter is
 * written. `template`: of the path; not used for a query.
 */
export function parameterObject(
  { parameters, named }: ParameterParts,
  where: ParameterPlace,
  template: string,
): PlainSchema {
  const properties = new Map<string, PlainSchema>();
  const required: string[] = [];
  // A contract need not describe the parameters of a path.
  const names = where === 'path' ? parametersOfPath(template) : [];
  for (const name of names) {
    properties.set(name, { type: 'string' });
    required.push(name);
  }
  const parts = [...parameters.values()].filter((part) => part['in'] === where);
  for (const [index, { schema, name: written, in: _in, required: isRequired, ...otherKeys }] of parts.entries()) {
    // A contract may use other names than the template: templates that differ only in parameter names are the same route.
    const name =
      where === 'path' && !names.includes(String(written)) ? (names[index] ?? String(written)) : String(written);
    const property: PlainSchema = { ...(typeof schema === 'object' ? schema : {}), 'x-parameter': otherKeys };
    const form = formOf(property, where, named);
    // An empty list is not sent.
    const isList = typeof form === 'object' && form.separator !== undefined && property['type'] === 'array';
    const minItems = Math.max(1, Number(property['minItems'] ?? 0));
    properties.set(name, isList ? { ...property, minItems } : property);
    if (isRequired === true && where === 'query') required.push(name);
  }
  return { type: 'object', properties: Object.fromEntries(properties), required, additionalProperties: false };
}

export function parametersOfPath(template: string): string[] {
  return [...template.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name);
}

/**
 * The parameters of a `parameterObject` after `operations`, for a comparison with those of the other version. The schema of a
 * parameter that is always sent gets the `default` of the other version: it has no effect, so it must not be a difference. A parameter
 * that an operation changes is written as the other version expects it.
 */
export function parametersIn(
  schema: SubSchema,
  where: ParameterPlace,
  { own, other }: { readonly own: ParameterParts; readonly other: ParameterParts },
  operations: readonly Operation[],
): PlainPart[] {
  // The schema is a boolean if an operation is faulty. With the parameters of the other version, the comparison finds no further
  // differences.
  if (typeof schema === 'boolean') return [...other.parameters.values()].filter((part) => part['in'] === where);
  const rewritten = rewrittenBy(operations);
  return Object.entries(propertiesOf(schema)).map(([name, property]) => {
    const propertySchema = typeof property === 'object' ? property : {};
    const parameterKeys = membersOf(propertySchema['x-parameter']);
    const isAlwaysSent = requiredOf(schema).includes(name);
    if ('content' in parameterKeys) return { ...parameterKeys, name, in: where, required: isAlwaysSent };
    const { 'x-parameter': _parameter, default: ownDefault, ...valueSchema } = propertySchema;
    const { schema: writtenSchema, ...otherParameter } = other.parameters.get(`${where} ${name}`) ?? {};
    const otherSchema =
      typeof writtenSchema === 'object' && writtenSchema !== null ? (writtenSchema as PlainSchema) : {};
    const usedDefault = isAlwaysSent ? otherSchema['default'] : ownDefault;
    const areBothTextsOrLists = [
      formOf(propertySchema, where, own.named),
      formOf({ ...otherSchema, 'x-parameter': otherParameter }, where, other.named),
    ].every((form) => typeof form === 'object');
    const { style, explode } = otherParameter;
    const withOtherFormats = withFormatsFrom(valueSchema, otherSchema, other.named) as PlainSchema;
    return {
      ...parameterKeys,
      ...(rewritten.has(name) && areBothTextsOrLists ? { style, explode } : {}),
      name,
      in: where,
      required: isAlwaysSent,
      schema: usedDefault === undefined ? withOtherFormats : { ...withOtherFormats, default: usedDefault },
    };
  });
}

/** The names of the parameters that operations write. */
function rewrittenBy(operations: readonly Operation[]): Set<string> {
  const names = new Set<string>();
  for (const operation of operations) {
    const { kind, at } = operation;
    const [name] = kind === 'rename' || kind === 'move' ? operation.to : at;
    if (name !== undefined) names.add(name);
  }
  return names;
}

/** The forms of the parameters that are not single texts. */
export function parameterFormsOf(route: AdaptedRoute, own: ParameterParts, other: ParameterParts): ParameterForms {
  const formsIn = (parts: ParameterParts, template: string): ParameterForms['own'] =>
    new Map(
      (['path', 'query'] as const).flatMap((where) =>
        Object.entries(propertiesOf(parameterObject(parts, where, template))).flatMap(([name, schema]) => {
          const form = formOf(schema, where, parts.named);
          const isText = typeof form === 'object' && form.separator === undefined && form.type === 'text';
          return typeof form === 'string' || isText ? [] : [[`${where} ${name}`, form] as const];
        }),
      ),
    );
  return { own: formsIn(own, route.path), other: formsIn(other, route.to.path) };
}

/** Key: a `style` of OpenAPI. Value: the separator of lists in this style. */
const separatorOf: Readonly<Record<string, ParameterForm['separator']>> = {
  form: ',',
  spaceDelimited: ' ',
  pipeDelimited: '|',
};

/**
 * How a parameter is written. `opaque`: one text that operations cannot read, such as an object or JSON. `parts`: an object whose
 * fields are parameters of their own. `schema`: a property of a `parameterObject`.
 */
export function formOf(
  schema: SubSchema,
  where: ParameterPlace,
  named: NamedSchemas,
): ParameterForm | 'opaque' | 'parts' {
  if (typeof schema === 'boolean') return { separator: undefined, type: 'text' };
  const { 'x-parameter': _parameter, ...valueSchema } = schema;
  const { content, style: writtenStyle, explode: writtenExplode } = membersOf(schema['x-parameter']);
  const style = typeof writtenStyle === 'string' ? writtenStyle : where === 'query' ? 'form' : 'simple';
  const explode = typeof writtenExplode === 'boolean' ? writtenExplode : style === 'form';
  const kinds = typesIn(valueSchema, named);
  if (content !== undefined || !kinds) return 'opaque';
  const { types, items } = kinds;
  if (types.has('object')) return style === 'deepObject' || (style === 'form' && explode) ? 'parts' : 'opaque';
  if (/^(?:label|matrix|deepObject)$/.test(style)) return 'opaque';
  if (!types.has('array')) return { separator: undefined, type: typeOfText(types) };
  const separator = where === 'path' ? ',' : explode ? '&' : separatorOf[style];
  const isListOfScalars = types.size === 1 && !items.has('array') && !items.has('object');
  return isListOfScalars && separator !== undefined ? { separator, type: typeOfText(items) } : 'opaque';
}

/** The types of the values except null, and the types of the items of arrays. Undefined: the schema has too many alternatives. */
function typesIn(
  schema: SubSchema,
  named: NamedSchemas,
): { readonly types: ReadonlySet<string>; readonly items: ReadonlySet<string> } | undefined {
  try {
    const branches = branchesOf(schema, named);
    const itemSchemas = branches.flatMap(({ items, prefixItems }) => [
      ...listOf(prefixItems),
      ...(items === undefined ? [] : [items as SubSchema]),
    ]);
    const items = itemSchemas.flatMap((item) => branchesOf(item, named));
    return { types: typesOfAll(branches), items: typesOfAll(items) };
  } catch (error) {
    if (error instanceof TooManyAlternatives) return undefined;
    throw error;
  }
}

function typesOfAll(branches: readonly PlainSchema[]): Set<string> {
  // A value of any type is read as a text.
  const types = new Set(branches.flatMap((branch) => typesOf(branch) ?? ['string']));
  types.delete('null');
  return types;
}

function typeOfText(types: ReadonlySet<string>): ParameterForm['type'] {
  if (types.size > 0 && [...types].every((type) => type === 'integer' || type === 'number')) return 'number';
  return types.size === 1 && types.has('boolean') ? 'boolean' : 'text';
}
