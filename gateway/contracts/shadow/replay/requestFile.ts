import { segmentOf } from '../../../config/api.ts';
import { findJsonError } from '../../../contract/document/jsonSyntax.ts';
import { textPositionAt } from '../../../contract/document/positions.ts';
import { CompareError } from '../../../contract/failure.ts';
import { schemaPolicies } from '../../../contract/schema/policies.ts';
import { SchemaValidator } from '../../../contract/schema/validator.ts';
import { isMap } from '../../../shared/json.ts';
import { translateTemplate, withoutVersion } from '../../../shared/pathTable.ts';
import { plural, printableExcerpt } from '../../../shared/text.ts';
import { overridesMethod } from '../sampling/methodOverride.ts';
import {
  fieldFault,
  isUsablePath,
  type ParameterType,
  type RequestFile,
  requestFileSchema,
  requestFormat,
  type WrittenParameter,
  type WrittenRequest,
  type WrittenScalar,
} from '../sampling/requestFormat.ts';

/** A parameter of a request. */
export interface NamedParameter {
  readonly name: string;
  readonly type: ParameterType;
  /** Undefined: only the name and the type are known. */
  readonly values: readonly string[] | undefined;
}

/** A request of a file, after the checks. */
export interface RecordedRequest {
  readonly method: 'GET' | 'HEAD';
  /** Below the version: `/drinks/{id}`, or with values: `/drinks/7`. */
  readonly path: string;
  /** The path in the new version, with the same parameters. Null: it has no counterpart. Undefined: not stated. */
  readonly to: string | null | undefined;
  /** Whether the path in the file begins with the version, `/v1/drinks`: for the old and for the new version. */
  readonly isVersioned: { readonly old: boolean; readonly new: boolean };
  readonly pathParameters: readonly NamedParameter[];
  readonly query: readonly NamedParameter[];
  readonly headers: readonly NamedParameter[];
}

const remedy = 'docs/replay.md describes the format.';
const maxFaults = 10;

/** @throws CompareError if the text is not such a file, or has expired. Its message contains no values. */
export function parseRequestFile(
  text: string,
  name: string,
  now: number,
): { readonly file: RequestFile; readonly requests: readonly RecordedRequest[] } {
  const content = text.replace(/^\uFEFF/, '');
  const syntaxError = findJsonError(content);
  if (syntaxError) {
    const { line, column } = textPositionAt(content, syntaxError.offset);
    throw new CompareError(`${name}:${line}:${column}`, 'is not JSON', `Make it with shadow export. ${remedy}`);
  }
  const root: unknown = JSON.parse(content);
  const format = isMap(root) ? root['format'] : undefined;
  if (format === undefined)
    throw new CompareError(
      name,
      'is not a file of requests: it has no `format`',
      `Write "format": ${requestFormat}. ${remedy}`,
    );
  if (format !== requestFormat) {
    const isNewer = typeof format === 'number' && format > requestFormat;
    const formatRemedy = isNewer
      ? 'Use a newer release of version-gateway, or export the requests again with this one.'
      : remedy;
    throw new CompareError(
      name,
      `has the format ${printableExcerpt(JSON.stringify(format))}, and this release reads format ${requestFormat}`,
      formatRemedy,
    );
  }
  const validator = new SchemaValidator({ named: {}, policy: schemaPolicies.requestFile });
  const faults = validator.errorsOf(requestFileSchema, root).map(faultInWords);
  const file = root as RequestFile;
  const requests =
    faults.length > 0
      ? []
      : file.requests.map((one, index) => recordedRequest(one, `requests[${index}]`, file, faults));
  if (faults.length > 0) {
    const shown = faults.slice(0, maxFaults).map((fault) => `\n  ${fault}`);
    const more = faults.length > shown.length ? `\n  and ${faults.length - shown.length} more` : '';
    throw new CompareError(name, `has ${plural(faults.length, 'fault')}`, `${remedy}${shown.join('')}${more}`);
  }
  if (file.expires !== undefined && Date.parse(file.expires) <= now)
    throw new CompareError(name, `expired at ${file.expires}`, 'Make a new one with version-gateway shadow export.');
  return { file, requests };
}

function faultInWords({
  instancePath,
  keyword,
  params,
  message,
}: {
  instancePath: string;
  keyword: string;
  params: Record<string, unknown>;
  message?: string | undefined;
}): string {
  // `/requests/0/to` → `requests[0].to`
  const place = instancePath
    .replace(/\/(\d+)/g, '[$1]')
    .replaceAll('/', '.')
    .slice(1);
  const at = place === '' ? '' : `${printableExcerpt(place)}: `;
  if (keyword === 'additionalProperties')
    return `${at}unknown key ${printableExcerpt(String(params['additionalProperty']))}`;
  if (keyword === 'required') return `${at}\`${params['missingProperty']}\` is missing`;
  if (keyword === 'enum') return `${at}must be ${(params['allowedValues'] as string[]).join(', ')}`;
  return `${at}${message ?? 'is not valid'}`;
}

function recordedRequest(
  written: WrittenRequest,
  at: string,
  { version = 'v1', to: toVersion = 'v2' }: RequestFile,
  faults: string[],
): RecordedRequest {
  const [, method = '', target = ''] = /^([A-Za-z]+) +(\S*)$/.exec(written.route.trim()) ?? [];
  if (!/^(?:GET|HEAD)$/i.test(method)) faults.push(`${at}.route: only GET and HEAD are sent: write "GET /drinks"`);
  const [writtenPath = '', ...queryParts] = target.split('?');
  const path = toAscii(withoutVersion(writtenPath, segmentOf(version)));
  const to = typeof written.to === 'string' ? toAscii(withoutVersion(written.to, segmentOf(toVersion))) : written.to;
  const isOldVersioned = path !== toAscii(writtenPath);
  for (const [key, one] of [
    ['route', path],
    ['to', to],
  ] as const)
    if (typeof one === 'string' && !isUsablePath(one))
      faults.push(`${at}.${key}: the path must begin with / and must not have spaces, # or the segments . and ..`);
  if (typeof to === 'string' && to.includes('?')) faults.push(`${at}.to: write the query in route or query`);
  else if (typeof to === 'string' && translateTemplate(path, to) === undefined)
    faults.push(`${at}.to: it has more parameters than route`);
  const pathNames = new Set([...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name));
  const pathParameters = parametersOf(written.path);
  for (const { name, values } of pathParameters) {
    if (!pathNames.has(name)) faults.push(`${at}.path: route has no {${printableExcerpt(name)}}`);
    if (values?.some((value) => /^(?:\.{0,2})$/.test(value)))
      faults.push(`${at}.path.${printableExcerpt(name)}: the value must not be empty, . or ..`);
  }
  const headers = parametersOf(written.headers);
  for (const { name, values = [] } of headers) {
    const problem = fieldFault(name, values.join());
    if (problem !== undefined) faults.push(`${at}.headers: ${problem}`);
  }
  const queryInRoute = [...new URLSearchParams(queryParts.join('?'))].map(
    ([name, value]): NamedParameter => ({ name, type: 'string', values: [value] }),
  );
  const query = [...queryInRoute, ...parametersOf(written.query)];
  const sentQuery = new URLSearchParams(query.map(({ name, values = [] }) => [name, values.join()])).toString();
  if (overridesMethod(headers.map(({ name }) => `${name}:`).join('\n'), sentQuery))
    faults.push(`${at}: remove the field or parameter that overrides the method: only GET and HEAD are sent`);
  return {
    method: /^HEAD$/i.test(method) ? 'HEAD' : 'GET',
    path,
    to,
    isVersioned: {
      old: isOldVersioned,
      new: typeof written.to === 'string' ? to !== toAscii(written.to) : isOldVersioned,
    },
    pathParameters: [...pathNames].map(
      (name) => pathParameters.find((one) => one.name === name) ?? { name, type: 'string', values: undefined },
    ),
    query,
    headers,
  };
}

/** Percent-encodes characters outside ASCII, so that a file may have readable paths. The names of parameters stay as they are. */
function toAscii(path: string): string {
  return path
    .toWellFormed()
    .replace(/\{[^{}]*\}|[^\x00-\x7e]/gu, (part) => (part.startsWith('{') ? part : encodeURIComponent(part)));
}

function parametersOf(written: WrittenRequest['query'] = {}): NamedParameter[] {
  return Object.entries(written).map(([name, one]) => {
    const { type, value }: Exclude<WrittenParameter, WrittenScalar | readonly WrittenScalar[]> = isMap(one)
      ? one
      : { value: one as WrittenScalar };
    const values = value === undefined ? undefined : [value].flat().map(String);
    return { name, type: type ?? 'string', values };
  });
}
