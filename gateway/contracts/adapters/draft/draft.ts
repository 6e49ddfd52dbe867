import type { AdaptedRoute } from '../../../config/adapterSettings.ts';
import { parseConfig } from '../../../config/load.ts';
import { CompareError, catchingStackOverflow } from '../../../contract/failure.ts';
import type { Route } from '../../../contract/routes.ts';
import type { SubSchema } from '../../../contract/schema/jsonSchema.ts';
import { printable } from '../../../shared/text.ts';
import { contentOf, entryFor } from '../proof/adaptedParts.ts';
import type { AdapterReport } from '../proof/adapterFindings.ts';
import { parameterObject, parametersOfPath } from '../proof/parameters.ts';
import { isJsonType, type PlainPart, parametersOf, requestBodyOf, responsesOf } from '../proof/plainParts.ts';
import { RouteCheck, verifyAdapters } from '../proof/verify.ts';
import { type DraftContext, type DraftedOperation, draftOperations, operationIdOf } from './draftOperations.ts';
import {
  type Counterpart,
  Counterparts,
  type DraftedVersion,
  type DraftSide,
  type MovedPathTables,
  openSide,
} from './draftRoutes.ts';
import { type DraftedRow, rowLines, usedOperations, yamlTextOf } from './draftYaml.ts';

export interface AdapterDraft {
  /** The section `adapter` in YAML, without indentation. */
  readonly lines: readonly string[];
  /** The number of adapted routes. */
  readonly adapted: number;
  /** The number of routes that are `gone`. */
  readonly gone: number;
  /** The number of routes that the check rejects. They are comments. */
  readonly faulty: number;
}

/**
 * Drafts the adapter that serves one version from the backend of another one, and checks it as a load of routes.yaml does.
 * @throws CompareError
 */
export async function draftAdapter(
  served: DraftedVersion,
  from: DraftedVersion,
  movedPaths: MovedPathTables,
): Promise<AdapterDraft> {
  const [own, other] = [await openSide(served), await openSide(from)];
  const counterparts = new Counterparts(own, other, movedPaths);
  const rows = own.routes
    // The row of GET also answers HEAD.
    .filter(({ method, path }) => method !== 'HEAD' || !own.adapterSide.find({ method: 'GET', path }))
    .map((route) =>
      catchingStackOverflow(`${route.method} ${route.path}`, () => rowFor(route, counterparts, own, other)),
    );
  // Each round turns the rows with faults into YAML comments, until the other rows have no fault.
  for (;;) {
    const lines = ['adapter:', `  from: /${from.name}`, modeLine, '  routes:'];
    // For each line after the header: the index of its row.
    const rowIndexOfLine: number[] = [];
    for (const [index, row] of rows.entries()) {
      const written = rowLines(row).map((line) => `    ${line}`);
      rowIndexOfLine.push(...written.map(() => index));
      lines.push(...written);
    }
    const { faults, warnings } = await checkDraft(lines, served, from);
    if (faults.length === 0) {
      for (const { line, message } of warnings) lines[line] += `  # warning: ${printable(message)}`;
      const faulty = rows.filter((row) => row.faults.length > 0).length;
      const gone = rows.filter((row) => row.gone !== undefined && row.faults.length === 0).length;
      return { lines, adapted: rows.length - faulty - gone, gone, faulty };
    }
    for (const { line, message, remedy } of faults) {
      const index = rowIndexOfLine[line - headerLineCount] ?? -1;
      const row = rows[index];
      if (!row) throw new CompareError(`/${served.name}`, `cannot be adapted: ${message.replace(/\.$/, '')}`, remedy);
      rows[index] = { ...row, faults: [...row.faults, `${message}  ${remedy}`] };
    }
  }
}

// `adapter:`, `from:`, `mode:` and `routes:` precede the rows.
const headerLineCount = 4;
const modeLine = '  mode: "off"  # shadow: only compare the adapted responses; serve: send them to clients';

/** A fault or a warning. `line`: an index of the lines of the draft. */
interface CheckedLine {
  readonly line: number;
  readonly message: string;
  readonly remedy: string;
}

/** Loads the draft as a routes.yaml. */
async function checkDraft(
  lines: readonly string[],
  served: DraftedVersion,
  from: DraftedVersion,
): Promise<{ readonly faults: readonly CheckedLine[]; readonly warnings: readonly CheckedLine[] }> {
  const linesBefore = [
    'routes:',
    `  /${from.name}: { contract: ${yamlTextOf(from.file)} }`,
    `  /${served.name}:`,
    `    contract: ${yamlTextOf(served.file)}`,
  ];
  const text = [...linesBefore, ...lines.map((line) => `    ${line}`), ''].join('\n');
  const loaded = parseConfig(text, 'draft.yaml', { env: {}, needsUpstreams: false });
  const { faults, warnings } = loaded.snapshot ? await verifyAdapters(loaded) : loaded;
  const [checkedFaults, checkedWarnings] = [faults, warnings].map((list) =>
    // The lines of faults are counted from 1.
    list.map(({ line = 0, message, remedy }) => ({ line: line - 1 - linesBefore.length, message, remedy })),
  );
  const warningsOfRows = (checkedWarnings ?? []).filter(({ line }) => line >= headerLineCount);
  return { faults: checkedFaults ?? [], warnings: warningsOfRows };
}

function rowFor(route: Route, counterparts: Counterparts, own: DraftSide, other: DraftSide): DraftedRow {
  const counterpart = counterparts.find(route);
  const name = `${route.method} ${route.path}`;
  const emptyRow = { name, note: '', request: new Map(), responses: new Map(), unused: new Map(), faults: [] };
  if ('gone' in counterpart) return { ...emptyRow, to: '', gone: counterpart.gone };
  const { route: target, note } = counterpart;
  let lastNumber = 0;
  const nextId = (): string => {
    lastNumber += 1;
    return `${idPrefix}${lastNumber}`;
  };
  const named = { own: own.schemas.named, other: other.schemas.named };
  const requestContext = {
    from: named.own,
    to: named.other,
    direction: 'request',
    receiver: other.name,
    nextId,
  } as const;
  const responseContext = {
    from: named.other,
    to: named.own,
    direction: 'response',
    receiver: own.name,
    nextId,
  } as const;
  const row: DraftedRow = {
    ...emptyRow,
    gone: undefined,
    to: `${target.method} ${target.path}`,
    note,
    request: requestOperations(route, counterpart, own, other, requestContext),
    responses: responseOperations(route, target, own, other, responseContext),
  };
  return withoutRejected(row, (tried) => faultsOfRow(tried, route, target, own, other));
}

const idPrefix = 'draft:';

function requestOperations(
  route: Route,
  { route: target, targetPathWithOwnNames }: Extract<Counterpart, { route: Route }>,
  own: DraftSide,
  other: DraftSide,
  context: DraftContext,
): DraftedRow['request'] {
  const sent = { parameters: parametersOf(route, own.schemas), named: own.schemas.named };
  const accepted = { parameters: parametersOf(target, other.schemas), named: other.schemas.named };
  const targetNames = parametersOfPath(target.path);
  const renamed = new Map(
    parametersOfPath(targetPathWithOwnNames).map((name, index) => [name, targetNames[index] ?? name]),
  );
  const [sentBody, acceptedBody] = [requestBodyOf(route, own.schemas), requestBodyOf(target, other.schemas)].map(
    jsonSchemaOf,
  );
  const pathOperations = draftOperations(
    parameterObject(sent, 'path', route.path),
    parameterObject(accepted, 'path', target.path),
    {
      ...context,
      renamed,
    },
  );
  const lists = [
    // If a path parameter were dropped, all its values would get the same response.
    ['path', pathOperations.filter(({ operation }) => operation.kind !== 'drop')],
    ['query', draftOperations(parameterObject(sent, 'query', ''), parameterObject(accepted, 'query', ''), context)],
    [
      'body',
      sentBody === undefined || acceptedBody === undefined ? [] : draftOperations(sentBody, acceptedBody, context),
    ],
  ] as const;
  return new Map(lists.filter(([, list]) => list.length > 0));
}

function responseOperations(
  route: Route,
  target: Route,
  own: DraftSide,
  other: DraftSide,
  context: DraftContext,
): DraftedRow['responses'] {
  const [expected, given] = [responsesOf(route, own.schemas), responsesOf(target, other.schemas)];
  const statuses = new Set([...given.keys(), ...expected.keys()]);
  const operationsByStatus = [...statuses].flatMap((status): [string, DraftedOperation[]][] => {
    const [from, to] = [jsonSchemaOf(entryFor(given, status)), jsonSchemaOf(entryFor(expected, status))];
    return from === undefined || to === undefined ? [] : [[status, draftOperations(from, to, context)]];
  });
  const changedClasses = operationsByStatus
    .filter(([status, operations]) => operations.length > 0 && !/^\d+$/.test(status))
    .map(([status]) => status);
  const isCovered = (status: string): boolean =>
    changedClasses.some((one) => one !== status && (one === 'default' || one === `${status.slice(0, 1)}XX`));
  // A status without operations needs an empty entry in `response` if the entry of its class would change it.
  return new Map(operationsByStatus.filter(([status, operations]) => operations.length > 0 || isCovered(status)));
}

function jsonSchemaOf(part: PlainPart | undefined): SubSchema | undefined {
  const media = Object.entries(contentOf(part)).find(([type]) => isJsonType(type))?.[1];
  return media?.['schema'] as SubSchema | undefined;
}

interface RowFault {
  /** The id of the faulty operation. Undefined: the fault is not about a single operation. */
  readonly operation: string | undefined;
  readonly text: string;
}

// A trial checks a route without one of its guesses. Limited, because each trial compares both contracts of the route.
const maxTrials = 30;

/** The row without the operations that the check rejects, and without guesses that only cause faults. */
function withoutRejected(row: DraftedRow, check: (row: DraftedRow) => readonly RowFault[]): DraftedRow {
  const unused = new Map<string, string>();
  let faults = check({ ...row, unused });
  for (let rejected = faults.filter(({ operation }) => operation !== undefined); rejected.length > 0; ) {
    for (const { operation, text } of rejected) if (operation !== undefined) unused.set(operation, text);
    faults = check({ ...row, unused });
    rejected = faults.filter(({ operation }) => operation !== undefined && !unused.has(operation));
  }
  const lists = [...row.request.values(), ...row.responses.values()];
  for (const id of lists.flatMap(guessIdsIn).slice(0, maxTrials)) {
    if (faults.length === 0) break;
    if (unused.has(id)) continue;
    const faultsWithoutGuess = check({ ...row, unused: new Map([...unused, [id, '']]) });
    if (faultsWithoutGuess.length >= faults.length) continue;
    unused.set(id, 'the route has fewer faults without it');
    faults = faultsWithoutGuess;
  }
  return { ...row, unused, faults: faults.map(({ text }) => text) };
}

function guessIdsIn(list: readonly DraftedOperation[]): string[] {
  return list.flatMap(({ operation, certainty, inner }) => [
    ...(certainty === 'guess' ? [operationIdOf(operation)] : []),
    ...guessIdsIn(inner),
  ]);
}

// How many values are generated for each kind of message, to find faults that a comparison of the schemas misses.
const sampleCount = 50;

/** The faults of a row that the check at a load would find. */
function faultsOfRow(
  { request, responses, unused }: DraftedRow,
  route: Route,
  target: Route,
  own: DraftSide,
  other: DraftSide,
): RowFault[] {
  const usedIn = (list: readonly DraftedOperation[] = []) => usedOperations(list, unused);
  const adapted: AdaptedRoute = {
    method: route.method,
    path: route.path,
    to: { method: target.method, path: target.path },
    request: {
      path: usedIn(request.get('path')),
      query: usedIn(request.get('query')),
      body: usedIn(request.get('body')),
    },
    responses: new Map([...responses].map(([status, list]) => [status, usedIn(list)])),
  };
  const faultsByText = new Map<string, RowFault>();
  const add: AdapterReport['add'] = (place, message, remedy, isWarning) => {
    const operation = place.map(String).find((key) => key.startsWith(idPrefix));
    const text = `${message}  ${remedy}`;
    if (isWarning !== true) faultsByText.set(`${operation} ${text}`, { operation, text });
  };
  const parts = {
    route: adapted,
    at: [],
    own: own.adapterSide,
    other: other.adapterSide,
    ownRoute: route,
    otherRoute: target,
  };
  try {
    new RouteCheck(parts, { own: own.name, other: other.name }, sampleCount, { add }).run();
  } catch (error) {
    if (!(error instanceof CompareError)) throw error;
    return [{ operation: undefined, text: error.message }];
  }
  return [...faultsByText.values()];
}
