import type { ShadowSettings } from '../../../config/shadowSettings.ts';
import type { Snapshot } from '../../../config/snapshot.ts';
import { rfc3339 } from '../../../shared/instant.ts';
import { parameterValuesOf } from '../../../shared/pathTable.ts';
import { type SecretNames, secretNamesIn } from '../../../usage/observability/redact.ts';
import { pathThroughChain } from '../../../versions/lifecycle/stage.ts';
import { looksLikeName } from '../compare/paths.ts';
import { chainBetween, containsSecret, shadowKey } from './copyPlan.ts';
import {
  fieldFault,
  isUsablePath,
  type ParameterType,
  type RequestFile,
  requestFormat,
  requestLifetimeMs,
  type WrittenRequest,
} from './requestFormat.ts';
import type { ShadowSample } from './shadowBatch.ts';

// The routes that are kept for each version, and the different requests that are kept for each route.
const maxRoutes = 200;
const maxRequestsOfRoute = 10;
// The parameters that a request may have in each place, and the characters of a value that is kept.
const maxParameters = 20;
const longestValue = 200;

/** What `GET /api/shadow/{version}/requests` answers. */
export interface ExportedRequests {
  readonly kind: 'shadow requests';
  /** Whether `shadow.values` is set. */
  readonly keeps_values: boolean;
  readonly file: RequestFile;
}

interface KeptParameter {
  readonly name: string;
  readonly type: ParameterType;
  /** Undefined: the value is not kept. */
  readonly values?: readonly string[];
}

interface KeptRequest {
  readonly path: readonly KeptParameter[];
  readonly query: readonly KeptParameter[];
  readonly headers: readonly KeptParameter[];
  count: number;
}

interface KeptRoute {
  readonly method: string;
  readonly template: string;
  /** The content of a request as JSON → the request. */
  readonly requests: Map<string, KeptRequest>;
  /** How many different requests there were. A request that returns after it was replaced counts again. */
  differentCount: number;
}

interface KeptVersion {
  readonly key: string;
  readonly settings: ShadowSettings;
  readonly secrets: SecretNames;
  /** `GET /drinks/{id}` → the route. */
  readonly routes: Map<string, KeptRoute>;
}

/**
 * The requests of the samples: names and types of parameters, and values only with `shadow.values`. They are kept only in memory,
 * in limited numbers. They are never written to a log, the ledger or a metric.
 */
export class SampledRequests {
  readonly #versions = new Map<string, KeptVersion>();

  /** Keeps the requests of a shadow only as long as its settings and `log.redact` stay the same. */
  configure(snapshot: Snapshot): void {
    const secrets = secretNamesIn(snapshot.log.redact);
    const before = new Map(this.#versions);
    this.#versions.clear();
    for (const version of snapshot.sortedVersions) {
      const { name, shadow: settings } = version;
      if (settings === undefined) continue;
      const key = JSON.stringify([shadowKey(version), snapshot.log.redact]);
      const previous = before.get(name);
      const routes = previous?.key === key ? previous.routes : new Map<string, KeptRoute>();
      this.#versions.set(name, { key, settings, secrets, routes });
    }
  }

  /** `sample`: taken with the current settings. */
  add(sample: ShadowSample): void {
    const version = this.#versions.get(sample.version);
    const template = namedTemplate(sample.template);
    if (version === undefined || template === undefined) return;
    const name = `${sample.method} ${template}`;
    const keptRoute = version.routes.get(name);
    if (keptRoute === undefined && version.routes.size >= maxRoutes) return;
    const route = keptRoute ?? { method: sample.method, template, requests: new Map(), differentCount: 0 };
    version.routes.set(name, route);
    const { resource, query } = sample;
    const mayKeepValues = version.settings.values && !containsSecret(version.secrets, resource, query.slice(1));
    const request: KeptRequest = {
      path: parameterValuesOf(resource, template).map(([parameterName, value]) => {
        const text = decoded(value);
        return keptParameter(parameterName, [text], mayKeepValues && !/^\.{0,2}$/.test(text));
      }),
      query: queryOf(query, mayKeepValues),
      // With `pass`, the fields include credentials.
      headers: headersOf(sample.fields, mayKeepValues && version.settings.credentials === 'drop'),
      count: 0,
    };
    keep(route, request);
  }

  /** Undefined: the version has no shadow. */
  exportOf(
    snapshot: Snapshot,
    name: string,
    { now, withValues }: { readonly now: number; readonly withValues: boolean },
  ): ExportedRequests | undefined {
    const kept = this.#versions.get(name);
    const version = snapshot.versions.get(name);
    const to = kept && snapshot.versions.get(kept.settings.to);
    if (kept === undefined || version === undefined || to === undefined) return undefined;
    const versionChain = chainBetween(version, to, snapshot);
    const requests = [...kept.routes.values()].flatMap(({ method, template, requests: keptRequests }) => {
      const counterpart = pathThroughChain(versionChain, template) ?? null;
      // Without their values, several requests may be equal.
      const merged = new Map<string, WrittenRequest & { readonly count: number }>();
      for (const { path, query, headers, count } of keptRequests.values()) {
        const request: WrittenRequest = {
          route: `${method} ${template}`,
          ...(counterpart !== template && { to: counterpart }),
          ...(path.length > 0 && { path: writtenParameters(path, withValues) }),
          ...(query.length > 0 && { query: writtenParameters(query, withValues) }),
          ...(headers.length > 0 && { headers: writtenParameters(headers, withValues) }),
        };
        const key = JSON.stringify(request);
        merged.set(key, { ...request, count: (merged.get(key)?.count ?? 0) + count });
      }
      return [...merged.values()].toSorted((one, other) => other.count - one.count);
    });
    const file: RequestFile = {
      format: requestFormat,
      created: rfc3339(now),
      expires: rfc3339(now + requestLifetimeMs),
      version: name,
      to: to.name,
      contracts: Object.fromEntries([version, to].map((one) => [one.name, one.contract?.digest ?? null])),
      requests,
    };
    return { kind: 'shadow requests', keeps_values: kept.settings.values, file };
  }
}

/** Reservoir sampling: each of the different requests is kept with the same probability. */
function keep(route: KeptRoute, request: KeptRequest): void {
  const key = JSON.stringify(request);
  const keptRequest = route.requests.get(key);
  if (keptRequest) {
    keptRequest.count += 1;
    return;
  }
  route.differentCount += 1;
  if (route.requests.size >= maxRequestsOfRoute) {
    const index = Math.floor(Math.random() * route.differentCount);
    const replaced = [...route.requests.keys()][index];
    if (replaced === undefined) return;
    route.requests.delete(replaced);
  }
  // A copy, because a substring keeps the whole string in memory, and with it the values of other fields.
  route.requests.set(key, { ...(JSON.parse(key) as KeptRequest), count: 1 });
}

/** `/drinks/{}` → `/drinks/{p1}`. Undefined: the path cannot be written to a file, or only its start is known. */
function namedTemplate(template: string): string | undefined {
  if (!isUsablePath(template) || template.includes('?') || template.endsWith('/*')) return undefined;
  let count = 0;
  return template.replace(/\{\}/g, () => {
    count += 1;
    return `{p${count}}`;
  });
}

function queryOf(query: string, mayKeepValues: boolean): KeptParameter[] {
  const byName = Map.groupBy(new URLSearchParams(query), ([name]) => name);
  return (
    [...byName]
      // A name that a client has made up may contain data.
      .filter(([name]) => looksLikeName(name.replace(/[[\].-]/g, '_')))
      .slice(0, maxParameters)
      .map(([name, pairs]) =>
        keptParameter(
          name,
          pairs.map(([, value]) => value),
          mayKeepValues,
        ),
      )
  );
}

// Fields that are set for each copy, and fields that describe the client instead of the request.
const omittedFields = /^(?:x-forwarded-.*|x-request-id|x-shadow|user-agent)$/i;

function headersOf(fields: readonly string[], mayKeepValues: boolean): KeptParameter[] {
  const kept: KeptParameter[] = [];
  for (let index = 0; index < fields.length && kept.length < maxParameters; index += 2) {
    const [name = '', value = ''] = fields.slice(index, index + 2);
    if (omittedFields.test(name) || fieldFault(name, value) !== undefined) continue;
    kept.push(keptParameter(name, [value], mayKeepValues));
  }
  return kept;
}

function keptParameter(name: string, values: readonly string[], mayKeepValues: boolean): KeptParameter {
  const isUsable = values.length <= maxParameters && values.every((value) => value.length <= longestValue);
  const type = values.length > 1 ? 'array' : parameterTypeOf(values[0] ?? '');
  return { name, type, ...(mayKeepValues && isUsable && { values }) };
}

function parameterTypeOf(text: string): ParameterType {
  if (/^-?\d{1,15}$/.test(text)) return 'integer';
  if (/^-?\d{1,15}\.\d{1,15}$/.test(text)) return 'number';
  return /^(?:true|false)$/.test(text) ? 'boolean' : 'string';
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function writtenParameters(
  parameters: readonly KeptParameter[],
  withValues: boolean,
): NonNullable<WrittenRequest['query']> {
  return Object.fromEntries(
    parameters.map(({ name, type, values }) => {
      const [first] = values ?? [];
      const value = values && values.length > 1 ? values : first;
      return [name, withValues && value !== undefined ? { type, value } : { type }];
    }),
  );
}
