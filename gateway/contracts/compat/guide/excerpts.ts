import { isList, type Located, ownValue } from '../../../contract/document/located.ts';
import type { Route } from '../../../contract/routes.ts';
import { isMap } from '../../../shared/json.ts';
import { type ContractExamples, type ExampleBody, generatedValueAt, type SampleValue, sampleAt } from './examples.ts';
import type { BeforeAfter, Excerpt } from './guide.ts';

/** A value of each contract, or the two contracts themselves. */
export interface OldAndNew<T> {
  readonly old: T;
  readonly new: T;
}

const maxExcerptLines = 40;

/**
 * The parts of two bodies that the changes at `paths` affect. `subjectPath` is the path from the body to the value that `paths` are
 * relative to. Undefined if both excerpts are the same, or if there is none.
 */
export function excerptsOf(
  bodies: OldAndNew<ExampleBody | undefined>,
  subjectPath: readonly string[],
  paths: readonly (readonly string[])[],
): BeforeAfter | undefined {
  const selection = selectionOf(paths);
  const excerptOf = (body: ExampleBody | undefined): Excerpt | undefined => {
    const fallback = subjectPath.reduce<SampleValue | undefined>(generatedValueAt, body?.generated);
    const part = body && select(sampleAt(body.example, subjectPath), fallback, selection);
    if (part === undefined) return undefined;
    const lines = JSON.stringify(part.value, null, 2).split('\n');
    const shown = lines.length > maxExcerptLines ? [...lines.slice(0, maxExcerptLines - 1), '…'] : lines;
    return { text: shown.join('\n'), isGenerated: part.isGenerated };
  };
  const [before, after] = [excerptOf(bodies.old), excerptOf(bodies.new)];
  return before?.text === after?.text ? undefined : { language: 'json', before, after };
}

/** Which parts of a value to show. */
interface Selection {
  /** The selected parts below each key. A key such as `[]` stands for the first item of a list, and `*` for any key. */
  readonly keys: Map<string, Selection>;
  isWhole: boolean;
}

function selectionOf(paths: readonly (readonly string[])[]): Selection {
  const root: Selection = { keys: new Map(), isWhole: false };
  for (const path of paths) {
    let current = root;
    for (const key of path) {
      const next = current.keys.get(key) ?? { keys: new Map(), isWhole: false };
      current.keys.set(key, next);
      current = next;
    }
    current.isWhole = true;
  }
  return root;
}

/** The selected parts of `value`. A part that is missing in it comes from `fallback`. Undefined if all parts are missing. */
function select(value: unknown, fallback: SampleValue | undefined, selection: Selection): SampleValue | undefined {
  if (selection.isWhole || selection.keys.size === 0) return valueOrFallback(value, fallback);
  if (isList(value) || (value === undefined && isList(fallback?.value))) return selectItem(value, fallback, selection);
  if (!isMap(value) && !isMap(fallback?.value)) return valueOrFallback(value, fallback);
  const exampleFields = isMap(value) ? value : {};
  // First the fields of the example in their order, then the selected fields that are missing in the example.
  const names = [...new Set([...Object.keys(exampleFields), ...selection.keys.keys()])];
  const parts = names.flatMap((name): [string, SampleValue][] => {
    const innerSelection = selection.keys.get(name) ?? selection.keys.get('*');
    const part =
      innerSelection && select(ownValue(exampleFields, name), generatedValueAt(fallback, name), innerSelection);
    return part ? [[name, part]] : [];
  });
  if (parts.length === 0) return undefined;
  return {
    value: Object.fromEntries(parts.map(([name, part]) => [name, part.value])),
    isGenerated: parts.some(([, part]) => part.isGenerated),
  };
}

/** A list with its first item only. */
function selectItem(value: unknown, fallback: SampleValue | undefined, selection: Selection): SampleValue | undefined {
  const [key, innerSelection] = [...selection.keys].find(([name]) => name.startsWith('[')) ?? [];
  if (key === undefined || innerSelection === undefined) return undefined;
  const part = select(isList(value) ? value[0] : undefined, generatedValueAt(fallback, key), innerSelection);
  return part && { value: [part.value], isGenerated: part.isGenerated };
}

function valueOrFallback(value: unknown, fallback: SampleValue | undefined): SampleValue | undefined {
  return value === undefined ? fallback : { value, isGenerated: false };
}

/**
 * The request lines of a route in both contracts, with example values for path parameters and required query parameters.
 * `baseUrls`: in front of the paths; `/v1` if the host is not known.
 */
export function requestLines(
  routes: OldAndNew<Route>,
  contracts: OldAndNew<ContractExamples>,
  baseUrls: OldAndNew<string>,
): BeforeAfter | undefined {
  if (routes.old.kind !== 'route') return undefined;
  const lineOf = (side: 'old' | 'new'): Excerpt => {
    const text = `${routes[side].method} ${baseUrls[side]}${requestTarget(routes[side], contracts[side])}`;
    return { text, isGenerated: false };
  };
  return { language: 'http', before: lineOf('old'), after: lineOf('new') };
}

function requestTarget(route: Route, contract: ContractExamples): string {
  const parameters = contract.parametersOf(route);
  const encodedValue = (parameter: Located | undefined): string | undefined => {
    const value = parameter && contract.valueOfParameter(parameter);
    const isScalar = value !== undefined && value !== null && typeof value !== 'object';
    return isScalar ? encodeURIComponent(String(value)) : undefined;
  };
  const path = route.path.replace(/\{([^{}]*)\}/g, (placeholder, name: string) => {
    const parameter = parameters.find(({ value }) => isMap(value) && value['in'] === 'path' && value['name'] === name);
    return encodedValue(parameter) ?? placeholder;
  });
  const query = parameters.flatMap((parameter) => {
    const { value } = parameter;
    if (!isMap(value) || value['in'] !== 'query' || value['required'] !== true) return [];
    return [`${encodeURIComponent(String(value['name']))}=${encodedValue(parameter) ?? '…'}`];
  });
  return query.length === 0 ? path : `${path}?${query.join('&')}`;
}
