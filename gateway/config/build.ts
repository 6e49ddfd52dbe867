import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { PathTable } from '../shared/pathTable.ts';
import { type Api, baseOf, compareIds, idOfReference, rootBase } from './api.ts';
import { adapterOf } from './rules/adapters.ts';
import { routeEndsOf } from './rules/lifecycle.ts';
import { clientFinder, identifiableClients, windowsOf } from './rules/restrictions.ts';
import type { RouteEntry, RuleContext } from './rules/rule.ts';
import { sampleFrom } from './rules/settings.ts';
import { driftOf, shadowOf } from './rules/shadow.ts';
import type { ConfigValues } from './schema.ts';
import { deepFreeze, isUnusable, type Snapshot, type Version } from './snapshot.ts';
import { withAbsoluteFiles } from './storeUrl.ts';
import { writtenValues } from './writtenValues.ts';

// 1% of the traces is enough to show where time is spent, at a hundredth of the cost of all traces.
const defaultSample = 0.01;

/** Builds the snapshot of a document without faults. `filesChangedAt`: when routes.yaml or a file that it names last changed, epoch ms. */
export function buildSnapshot(root: RuleContext, filesChangedAt: number): Snapshot {
  const { config, source, files } = root;
  const contexts = [...root.apis.values()];
  const sortedVersions = contexts
    .flatMap((context) => {
      const clientsOf = clientFinder(context);
      return context.entries.map((entry) => versionOf(entry, context, clientsOf));
    })
    .sort((a, b) => compareIds(a.name, b.name));
  const apis = contexts.map((context) => apiFrom(context));
  const settings = {
    sortedVersions,
    gateway: gatewayOf(config.gateway, source.folder),
    usage: {
      identify: config.usage.identify,
      store: resolve(source.folder, config.usage.store),
      retention: config.usage.retention,
      maxClients: config.usage.max_clients,
      maxRoutes: config.usage.max_routes,
      names: config.usage.names === undefined ? undefined : resolve(source.folder, config.usage.names),
      tagKey: config.usage.tag_key,
    },
    log: logOf(config.log, source.folder),
    fleet: fleetOf(config.fleet, source.folder),
    telemetry: telemetryOf(config.telemetry, source.env),
  };
  const { base: _, listed: _listed, ...rootSettings } = apiFrom(root);
  return deepFreeze({
    ...settings,
    apis: new Map(apis.map((api) => [api.base, api])),
    filesChangedAt,
    written: writtenValues(source),
    versions: new Map(sortedVersions.map((version) => [version.name, version])),
    // The settings of the API at the root are not below a key, as in the file.
    fingerprint: fingerprintOf(
      { ...settings, ...rootSettings, ...(apis.length > 1 && { apis: apis.slice(1) }) },
      files.digests(),
    ),
  });
}

function apiFrom(context: RuleContext): Api {
  const { config, base } = context;
  const clientsOf = clientFinder(context);
  return {
    base,
    listed: context.head?.listed ?? true,
    guard: { ...config.guard, force: forceOf(context) },
    retire: {
      quiet: config.retire.quiet,
      maxShare: config.retire.max_share,
      rhythm: config.retire.rhythm,
      ignoreClients: config.retire.ignore_clients,
    },
    brownout: {
      notice: config.brownout.notice,
      status: config.brownout.status,
      spared: [...new Set([...config.brownout.spare, ...config.retire.ignore_clients].flatMap(clientsOf))],
      unnamed: config.brownout.unnamed,
      maxShare: config.brownout.max_share,
    },
    compat: {
      rules: new Map(Object.entries(config.compat.rules).flatMap(([id, level]) => (level ? [[id, level]] : []))),
      // The type requires `pointer`, even if it is undefined.
      exempt: config.compat.exempt.map(({ pointer, ...exemption }) => ({ ...exemption, pointer })),
    },
    notify: config.notify.flatMap(({ url, secret, ...receiver }) =>
      url === undefined ? [] : [{ ...receiver, url, secret }],
    ),
  };
}

/**
 * The reasons for the versions of an API, from its own section and from that of the gateway's file. The API at the root has those for
 * APIs that the file no longer has.
 */
function forceOf({ base, config, apis }: RuleContext): ReadonlyMap<string, string> {
  const ofGateway = Object.entries(apis.get(rootBase)?.config.guard.force ?? {}).filter(([key]) => {
    const named = baseOf(key.slice(1));
    return (apis.has(named) ? named : rootBase) === base;
  });
  const own = base === rootBase ? [] : Object.entries(config.guard.force);
  return new Map([
    ...ofGateway.map(([key, reason]) => [key.slice(1), reason] as const),
    ...own.map(([key, reason]) => [idOfReference(base, key), reason] as const),
  ]);
}

function versionOf(
  entry: RouteEntry,
  { config, source, contracts }: RuleContext,
  clientsOf: ReturnType<typeof clientFinder>,
): Version {
  const { key, name, major, route } = entry;
  const { defaults } = config;
  const timeouts = withDefaults(defaults.timeouts, route.timeouts);
  const limits = withDefaults(defaults.limits, route.limits);
  const retries = withDefaults(defaults.retries, route.retries);
  const health = withDefaults(defaults.health, route.health);
  const contract = contracts.get(key);
  return {
    name,
    major,
    prefix: route.prefix,
    targets: route.upstream ?? [],
    deprecation: route.deprecation,
    sunset: route.sunset,
    afterSunset: route.after_sunset,
    retired: route.retired,
    successor: route.successor && idOfReference(baseOf(name), route.successor),
    info: route.info,
    guide: route.guide,
    moved: new PathTable(Object.entries(route.moved ?? {})),
    // The routes that end before the version.
    ends: routeEndsOf(route, isUnusable(contract) ? undefined : contract),
    brownouts: windowsOf(route),
    freeze: freezeOf(route.freeze, clientsOf, config.retire.ignore_clients),
    waivers: route.waivers.map((waiver) => ({
      ...waiver,
      clients: identifiableClients(clientsOf(waiver.client), config.usage.identify),
    })),
    shadow: shadowOf(entry),
    drift: driftOf(route),
    contract: isUnusable(contract) ? undefined : contract,
    // `withGreasePlans` adds the plan to a copy of the snapshot.
    grease: route.grease === 'request' ? { plan: undefined } : undefined,
    adapter: adapterOf(entry),
    timeouts: {
      connect: timeouts.connect,
      firstByte: timeouts.first_byte,
      idle: timeouts.idle,
      streamIdle: timeouts.stream_idle,
      writeIdle: timeouts.write_idle,
      keepAlive: timeouts.keep_alive,
    },
    limits: {
      body: limits.body,
      inFlight: limits.in_flight,
      inFlightPerTarget: limits.in_flight_per_target,
      queue: limits.queue,
    },
    retries: { attempts: retries.attempts, budget: retries.budget, budgetMin: retries.budget_min },
    health: {
      path: health.path,
      interval: health.interval,
      timeout: health.timeout,
      healthyAfter: health.healthy_after,
      unhealthyAfter: health.unhealthy_after,
      passiveFailures: health.passive_failures,
      eject: health.eject,
      onNoneHealthy: health.on_none_healthy,
    },
    balance: route.balance ?? defaults.balance,
    tls: tlsOf(withDefaults(defaults.tls, route.tls), source.folder),
  };
}

function freezeOf(
  freeze: RouteEntry['route']['freeze'],
  clientsOf: ReturnType<typeof clientFinder>,
  ignored: readonly string[],
): Version['freeze'] {
  if (freeze?.from === undefined) return undefined;
  return { from: freeze.from, mode: freeze.mode, allow: [...freeze.allow, ...ignored].flatMap(clientsOf) };
}

function gatewayOf(gateway: ConfigValues['gateway'], folder: string): Snapshot['gateway'] {
  const { tls } = gateway;
  return {
    listen: gateway.listen,
    admin: gateway.admin,
    adminToken: gateway.admin_token,
    adminLoopback: gateway.admin_loopback,
    basePath: gateway.base_path,
    publicUrl: gateway.public_url,
    trustedProxies: gateway.trusted_proxies,
    workers: gateway.workers,
    workerTimeout: gateway.worker_timeout,
    drain: gateway.drain,
    selfService: gateway.self_service,
    fastLane: gateway.fast_lane,
    http2: gateway.http2,
    h2c: gateway.h2c,
    timeouts: {
      head: gateway.timeouts.head,
      bodyIdle: gateway.timeouts.body_idle,
      keepAlive: gateway.timeouts.keep_alive,
    },
    limits: gateway.limits,
    tls: tls && { cert: resolve(folder, tls.cert), key: resolve(folder, tls.key), hsts: tls.hsts },
  };
}

function logOf({ access, redact, ...rest }: ConfigValues['log'], folder: string): Snapshot['log'] {
  return {
    ...rest,
    access: typeof access === 'object' ? { file: resolve(folder, access.file) } : access,
    redact: redact.map((name) => name.toLowerCase()),
  };
}

function fleetOf(fleet: ConfigValues['fleet'], folder: string): Snapshot['fleet'] {
  const {
    store,
    password_file: file,
    silent_after: silentAfter,
    name = hostname(),
    heartbeat,
    start,
    members,
    spool,
  } = fleet;
  if (store === undefined) return undefined;
  const passwordFile = file === undefined ? undefined : resolve(folder, file);
  return { store: withAbsoluteFiles(store, folder), passwordFile, name, heartbeat, silentAfter, start, members, spool };
}

/** OTEL_SDK_DISABLED and the variables of the sampler are applied here; `otlp/` reads the other variables of OpenTelemetry. */
function telemetryOf(
  { otlp, sample, metrics }: ConfigValues['telemetry'],
  env: NodeJS.ProcessEnv,
): Snapshot['telemetry'] {
  if (otlp === undefined || env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return undefined;
  return { otlp, sample: sample ?? sampleFrom(env) ?? defaultSample, metrics };
}

function tlsOf(tls: ConfigValues['defaults']['tls'], folder: string): Version['tls'] {
  return {
    ca: tls.ca === undefined ? undefined : resolve(folder, tls.ca),
    servername: tls.servername,
    verify: tls.verify,
  };
}

/** The defaults, overridden by the keys of a route. `path: off` is parsed as undefined, and also overrides a default. */
function withDefaults<Settings extends object>(
  defaults: Settings,
  overrides: Partial<{ [Key in keyof Settings]: unknown }> | undefined,
): Settings {
  return { ...defaults, ...overrides };
}

/** SHA-256 of the values of a document and of the digests of the files that it refers to. */
export function fingerprintOf(values: object, digests: readonly (readonly [file: string, digest: string])[]): string {
  return createHash('sha256')
    .update(JSON.stringify(canonical([values, Object.fromEntries(digests)])))
    .digest('hex');
}

/** Equal for values that differ only in the order of their keys. Keys without a value are left out. */
function canonical(value: unknown): unknown {
  if (value instanceof PathTable) return canonical(Object.fromEntries(value.entries()));
  if (value instanceof Map) return canonical(Object.fromEntries(value));
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, member]) => [key, canonical(member)]);
}
