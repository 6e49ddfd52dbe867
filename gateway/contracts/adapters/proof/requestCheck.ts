import type {
  AdaptedRoute,
  JsonMembers,
  JsonValue,
  Operation,
  ParameterForm,
  ParameterForms,
} from '../../../config/adapterSettings.ts';
import type { Path } from '../../../config/fault.ts';
import type { NamedSchemas, PlainSchema } from '../../../contract/schema/jsonSchema.ts';
import type { SchemaValidator } from '../../../contract/schema/validator.ts';
import { CompiledRoute } from '../serving/compiledAdapter.ts';
import { cannotBeSegment, valuesInPath, valuesInQuery, writtenParameters } from '../serving/parameterTexts.ts';
import { contentOf, type RequestParts } from './adaptedParts.ts';
import { propertiesOf, requiredOf } from './branches.ts';
import { formOf, type ParameterPlace, parameterFormsOf, parameterObject, parametersOfPath } from './parameters.ts';
import { mayBeJson, type PlainPart } from './plainParts.ts';
import { headerSampleFault, isValidText } from './sampledCheck.ts';
import { SchemaSampler } from './schemaSampler.ts';

// Checks what schemas do not show: how parameters are written as texts, and which media types a body may have.

interface RequestFault {
  /** In routes.yaml. */
  readonly place: Path;
  readonly message: string;
  readonly remedy: string;
}

export interface RequestToCheck {
  readonly route: AdaptedRoute;
  /** Its row in routes.yaml. */
  readonly at: Path;
  readonly own: RequestParts;
  readonly other: RequestParts;
  /** The parameters after the operations. */
  readonly sent: readonly PlainPart[];
  /** `/v1` and `/v2` */
  readonly names: { readonly own: string; readonly other: string };
  readonly validators: { readonly own: SchemaValidator; readonly other: SchemaValidator };
  /** The number of generated values. */
  readonly sampleCount: number;
}

/** The faults of one route, without those that a comparison of both contracts shows. */
export function requestFaults(request: RequestToCheck): RequestFault[] {
  const { route, own } = request;
  const parameterFaults = (['path', 'query'] as const).flatMap((where) => {
    const forms = formsByName(parameterObject(own, where, route.path), where, own.named);
    return operationFaults(route.request[where], where, forms);
  });
  return [...bodyFaults(request), ...pathFaults(request), ...parameterFaults];
}

function bodyFaults({ route, at, own, names }: RequestToCheck): RequestFault[] {
  const place = [...at, 'request', 'body'];
  if (route.request.body.length === 0) return [];
  if (own.body === undefined) {
    const message = `The contract of ${names.own} has no request body for this route.`;
    return [{ place, message, remedy: 'Remove the operations.' }];
  }
  return Object.keys(contentOf(own.body)).flatMap((type) => {
    if (mayBeJson(type) && !type.includes('*')) return [];
    const message = `Requests of ${names.own} may have a body of ${type}, which operations cannot change.`;
    const remedy = `Remove the media type from the contract of ${names.own} if no client uses it, or mark the route as gone, with the reason.`;
    return [{ place, message, remedy }];
  });
}

/** Every path parameter of one version needs a counterpart in the path of the other version. */
function pathFaults({ route, at, sent, names }: RequestToCheck): RequestFault[] {
  const place = [...at, 'request', 'path'];
  const sentNames = sent.filter((part) => part['in'] === 'path').map(({ name }) => String(name));
  const wantedNames = parametersOfPath(route.to.path);
  const missing = wantedNames.filter((name) => !sentNames.includes(name));
  const unused = sentNames.filter((name) => !wantedNames.includes(name));
  if (missing.length > 0) {
    const [source] = unused;
    return missing.map((name) => {
      const remedy =
        source === undefined
          ? `Write const: { ${name}: … }.`
          : `Write request: { path: [{ rename: { ${source}: ${name} } }] }.`;
      return { place, message: `The path parameter {${name}} of ${names.other} has no value.`, remedy };
    });
  }
  return unused.map((name) => ({
    place,
    message: `The path parameter {${name}} has no counterpart in ${route.to.path}.`,
    remedy: `Name a route of ${names.other} that has it, or mark the route as gone, with the reason.`,
  }));
}

type PropertyForm = ReturnType<typeof formOf>;

function formsByName(object: PlainSchema, where: ParameterPlace, named: NamedSchemas): Map<string, PropertyForm> {
  return new Map(Object.entries(propertiesOf(object)).map(([name, schema]) => [name, formOf(schema, where, named)]));
}

// These operations do not read the value of a parameter.
const kindsOnWholeParameters: ReadonlySet<Operation['kind']> = new Set(['rename', 'move', 'drop', 'const']);

/** Faults of operations that cannot read their parameter, or whose value cannot be written. */
function operationFaults(
  operations: readonly Operation[],
  where: ParameterPlace,
  forms: Map<string, PropertyForm>,
): RequestFault[] {
  return operations.flatMap((operation) => {
    const { kind, at, place } = operation;
    const fault = (message: string, remedy: string): RequestFault[] => [{ place, message, remedy }];
    const [name, ...below] = at;
    if (name === undefined)
      return fault(`The operation ${kind} needs a parameter of the ${where}.`, 'Name a parameter.');
    if (kind === 'drop' && where === 'path') {
      const message = `Without the path parameter ${name}, all its values would get the same response.`;
      return fault(message, 'Name a route that has it, or mark the route as gone, with the reason.');
    }
    const form = forms.get(name);
    if (kind === 'rename' || kind === 'move') {
      const [to = '', ...belowTo] = operation.to;
      if (belowTo.length > 0) return fault(`A parameter of the ${where} cannot have fields.`, 'Use rename.');
      if (form !== undefined) forms.set(to, form);
    }
    if (kindsOnWholeParameters.has(kind)) forms.delete(name);
    if (form === 'parts') {
      const message = `The fields of the object ${name} are parameters of their own, which operations do not see.`;
      return fault(message, 'Remove the operation, or mark the route as gone, with the reason.');
    }
    if (form === 'opaque' && !(kindsOnWholeParameters.has(kind) && below.length === 0)) {
      const message = `${name} is written as one text that ${kind} cannot read.`;
      return fault(message, 'Use rename, drop or const, or mark the route as gone, with the reason.');
    }
    return valueFaults([operation], where, fault);
  });
}

/** `fault` returns a fault at the outermost operation in routes.yaml, also for an operation within an `each`. */
function valueFaults(
  operations: readonly Operation[],
  where: ParameterPlace,
  fault: (message: string, remedy: string) => RequestFault[],
): RequestFault[] {
  return operations.flatMap((operation) => {
    if (operation.kind === 'each') return valueFaults(operation.operations, where, fault);
    if (operation.kind !== 'const' && operation.kind !== 'default' && operation.kind !== 'map') return [];
    const values = operation.kind === 'map' ? [...operation.values.values()] : [operation.value];
    const unwritable = values.find((value) => isUnwritable(value, where));
    if (unwritable === undefined) return [];
    const words = Array.isArray(unwritable)
      ? 'This list'
      : unwritable === ''
        ? 'An empty text'
        : JSON.stringify(unwritable);
    const text = where === 'path' ? 'a text other than "", "." and ".."' : 'a text';
    const remedy = `Write ${text}, a number, a boolean or a list of them.`;
    return fault(`${words} cannot be written in a ${where}.`, remedy);
  });
}

function isUnwritable(value: JsonValue, where: ParameterPlace): boolean {
  if (Array.isArray(value))
    return (
      value.length === 0 ||
      value.some((one) => typeof one === 'object') ||
      (where === 'path' && value.length === 1 && isUnwritable(value[0] ?? null, where))
    );
  return typeof value === 'object' || (where === 'path' && cannotBeSegment(String(value)));
}

/**
 * Generates parameters, writes them as a client does, and adapts them. Returns a message about the first result that the other
 * version would not accept.
 */
export function parameterSampleFault(
  request: RequestToCheck,
  where: ParameterPlace | 'header' | 'cookie',
): string | undefined {
  if (where === 'header' || where === 'cookie') return headerSampleFault(request, where);
  const { route, own, other, validators, sampleCount } = request;
  const schema = parameterObject(own, where, route.path);
  const forms = parameterFormsOf(route, own, other);
  const compiled = new CompiledRoute(route, forms);
  const sampler = new SchemaSampler(own.named, { direction: 'request', seed: 1 });
  for (let count = 0; count < sampleCount; count += 1) {
    // The first two values are the smallest and the largest.
    const value = sampler.next(schema, (['least', 'most'] as const)[count]);
    if (value === undefined || !validators.own.isValid(schema, value)) continue;
    const written = pathOrQueryWith(value as JsonMembers, {
      schema,
      where,
      template: route.path,
      named: own.named,
      forms,
    });
    if (written === undefined) continue;
    const reason = reasonForRefusal(() => (where === 'path' ? compiled.pathOf(written) : compiled.queryOf(written)), {
      request,
      where,
      forms,
    });
    if (reason !== undefined) return `A ${where} that the contract allows cannot be adapted: ${reason}.`;
  }
  return undefined;
}

/** Why the other version would not accept the result. */
function reasonForRefusal(
  adapt: () => string,
  {
    request,
    where,
    forms,
  }: { readonly request: RequestToCheck; readonly where: ParameterPlace; readonly forms: ParameterForms },
): string | undefined {
  const { route, other, validators } = request;
  let result: string;
  try {
    result = adapt();
  } catch (error) {
    if (error instanceof Error) return error.message;
    throw error;
  }
  const values = new Map(
    where === 'path' ? valuesInPath(result, route.to.path, forms.other) : valuesInQuery(result, forms.other),
  );
  const expected = parameterObject(other, where, route.to.path);
  const missing = requiredOf(expected).find((name) => !values.has(name));
  if (missing !== undefined) return `the parameter ${missing} of the ${where} has no value`;
  for (const [name, schema] of Object.entries(propertiesOf(expected))) {
    const value = values.get(name);
    const form = formOf(schema, where, other.named);
    if (value === undefined || typeof form === 'string' || isValidText(schema, value, validators.other)) continue;
    return `the parameter ${name} of the ${where} gets a value that the contract of ${request.names.other} does not allow`;
  }
  return undefined;
}

/** Writes the values as the path or the query of a client. Undefined: clients cannot send them. */
function pathOrQueryWith(
  values: JsonMembers,
  {
    schema,
    where,
    template,
    named,
    forms,
  }: {
    readonly schema: PlainSchema;
    readonly where: ParameterPlace;
    readonly template: string;
    readonly named: NamedSchemas;
    readonly forms: ParameterForms;
  },
): string | undefined {
  const propertyForms = formsByName(schema, where, named);
  // Key: the name of a parameter. Value: its values as a client writes them.
  const texts = new Map<string, readonly string[]>();
  for (const [name, value] of Object.entries(values)) {
    // Operations do not read a parameter that is `opaque` or `parts`, so any text can stand for its value.
    const isRead = typeof propertyForms.get(name) === 'object';
    const items = isRead ? [value].flat().flatMap((one) => (one === null ? [] : [textOf(one)])) : ['x'];
    const written = writtenOrNone(items, forms.own.get(`${where} ${name}`));
    if (written === undefined) return undefined;
    texts.set(name, written);
  }
  if (requiredOf(schema).some((name) => !texts.get(name)?.length)) return undefined;
  if (where === 'path') {
    const isImpossible = [...texts.values()].some(([text = '']) => cannotBeSegment(text));
    return isImpossible
      ? undefined
      : template.replace(/\{([^{}]*)\}/g, (_whole, name: string) => texts.get(name)?.[0] ?? '');
  }
  const pairs = [...texts].flatMap(([name, list]) => list.map((text) => `${encodeURIComponent(name)}=${text}`));
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

function writtenOrNone(texts: readonly string[], form: ParameterForm | undefined): readonly string[] | undefined {
  try {
    return writtenParameters(texts, form);
  } catch {
    return undefined;
  }
}

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
