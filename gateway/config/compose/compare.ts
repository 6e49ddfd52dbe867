import { dirname } from 'node:path';
import { shortened } from '../../shared/text.ts';
import { byPlace, type Fault } from '../fault.ts';
import { realPathOf } from '../location.ts';
import { nearest } from '../nearest.ts';
import { readYaml } from '../readDocument.ts';
import type { Version } from '../snapshot.ts';
import { type ConfigResult, validate } from '../validate.ts';
import { valuePlaceholder } from './interpolate.ts';
import { allTexts, type ComposeFinding, child, faultIn, listed } from './node.ts';
import type { Project } from './project.ts';
import { mountsOf, type Service } from './service.ts';
import {
  dependsOnBackend,
  gatewayEnvironment,
  orphanStillRuns,
  retiredStillRuns,
  routesMountedAlone,
  serviceUnreached,
} from './serviceRules.ts';
import {
  backendNotStarted,
  type ComposeContext,
  type ComposeRule,
  composeTargets,
  portDiffers,
  resolveHost,
  upstreamUnanswered,
} from './upstreams.ts';

/**
 * The rules by their id. Each rule has a fixture with its id as the name in test/fixtures/compose. An orphan is a container whose
 * service is in none of the files.
 */
export const composeRules = {
  'upstream-unanswered': upstreamUnanswered,
  'port-differs': portDiffers,
  'backend-not-started': backendNotStarted,
  'service-unreached': serviceUnreached,
  'retired-still-runs': retiredStillRuns,
  'orphan-still-runs': orphanStillRuns,
  'depends-on-backend': dependsOnBackend,
  // routes.yaml is mounted as a file, without its folder.
  'routes-mounted-alone': routesMountedAlone,
  'gateway-environment': gatewayEnvironment,
} satisfies Record<string, ComposeRule>;

/** A routes.yaml, and what is needed to compare it with a Compose project. */
export interface ComparedFile {
  readonly text: string;
  /** As `Fault.file`. */
  readonly file: string;
  /** Absolute. */
  readonly path: string;
  /** Epoch ms. */
  readonly now: number;
  readonly isRetired: (version: Version) => boolean;
  /** False for an application that answers the requests itself: versions need no upstream. */
  readonly needsUpstreams?: boolean;
}

export interface ComposeResult {
  /** Unlike the result of a routes.yaml alone, it may have both a snapshot and faults. */
  readonly result: ConfigResult;
  /** The service that is the gateway, if it is known. */
  readonly gateway: string | undefined;
  /** Facts that are not wrong, but that the operator may not expect. */
  readonly notes: readonly Fault[];
}

/**
 * Compares a routes.yaml with a Compose project. The routes.yaml gets the environment variables of the gateway's service.
 * `gatewayName`: the service of the gateway, if the user names it. `running`: the services that run according to the
 * engine. Findings that depend on a variable without a value are left out; the variable itself is reported.
 */
export function compareWithCompose(
  routes: ComparedFile,
  project: Project,
  gatewayName?: string,
  running?: ReadonlySet<string>,
): ComposeResult {
  const { result, gateway, notes } = findingsBetween(routes, project, gatewayName, running);
  const hasPlaceholder = ({ message, value = '' }: Fault): boolean =>
    message.includes(valuePlaceholder) || value.includes(valuePlaceholder);
  const withoutPlaceholder = (faults: readonly Fault[]): Fault[] => faults.filter((fault) => !hasPlaceholder(fault));
  const faults = sorted([...withoutPlaceholder(result.faults), ...project.missingVariables], orderOf(routes, project));
  return {
    gateway,
    notes: withoutPlaceholder(notes),
    result: { ...result, faults, warnings: withoutPlaceholder(result.warnings) },
  };
}

function findingsBetween(
  routes: ComparedFile,
  project: Project,
  gatewayName?: string,
  running?: ReadonlySet<string>,
): ComposeResult {
  const gatewayOrFault = gatewayIn(project, routes, gatewayName);
  // Most findings about a project that was not read completely would be wrong.
  if (project.faults.length > 0) return { ...refusal(project.faults), gateway: undefined };
  if (isFault(gatewayOrFault)) return { ...refusal([gatewayOrFault]), gateway: undefined };
  const gateway = gatewayOrFault;
  const env = Object.fromEntries([...gateway.environment].map(([name, { text }]) => [name, text]));
  const reading = readYaml(routes.text, routes.file, dirname(routes.path), env);
  const result = validate(reading, routes.now, { needsUpstreams: routes.needsUpstreams });
  const { snapshot } = result;
  if (!snapshot) return { result, gateway: gateway.name, notes: [] };
  const targets = composeTargets(snapshot, reading.source, routes.text);
  const versions = snapshot.sortedVersions.map((version) => ({
    name: version.name,
    isRetired: routes.isRetired(version),
    from: version.adapter?.mode === 'serve' ? version.adapter.from : undefined,
    targets: targets
      .filter((target) => target.version === version.name)
      .map((target) => ({ target, resolution: resolveHost(target, project, gateway) })),
  }));
  const findings = findingsOfAllRules({
    source: reading.source,
    routesFile: routes.path,
    project,
    gateway,
    versions,
    running,
  });
  const withLevel = (level: ComposeFinding['level']): Fault[] =>
    findings.filter((finding) => finding.level === level).map(({ fault }) => fault);
  const fileOrder = orderOf(routes, project);
  return {
    gateway: gateway.name,
    notes: sorted(withLevel('note'), fileOrder),
    result: {
      snapshot,
      faults: sorted(withLevel('error'), fileOrder),
      warnings: sorted([...result.warnings, ...project.warnings, ...withLevel('warning')], fileOrder),
    },
  };
}

function orderOf({ file }: ComparedFile, { texts }: Project): string[] {
  return [file, ...texts.keys()];
}

function refusal(faults: readonly Fault[]): Pick<ComposeResult, 'result' | 'notes'> {
  return { result: { snapshot: undefined, faults: sorted(faults, []), warnings: [] }, notes: [] };
}

function sorted(faults: readonly Fault[], fileOrder: readonly string[]): Fault[] {
  const rank = ({ file }: Fault): number => fileOrder.indexOf(file ?? '');
  return faults.toSorted((a, b) => rank(a) - rank(b) || byPlace(a, b));
}

/** Signs that a service is the gateway, the strongest first. */
const gatewaySigns: readonly ((service: Service, routes: ComparedFile, project: Project) => boolean)[] = [
  (service, { path }, { folders }) => mountsOf(service, folders).some(({ source }) => realPathOf(source) === path),
  ({ node }) =>
    ['image', 'build', 'command', 'entrypoint'].some((key) => allTexts(child(node, key)).some(namesGateway)),
  ({ environment }, { text }) => variablesOf(text).some((name) => environment.has(name)),
  ({ name }) => /^(?:(?:version|api)[-_.])?gateway$/i.test(name),
];

/**
 * The service that runs the gateway: the service `gatewayName`, if it is given. Otherwise, one sign after the other leaves only the
 * services that have it, until one service is left. A sign that no service has is skipped.
 */
function gatewayIn(project: Project, routes: ComparedFile, gatewayName: string | undefined): Service | Fault {
  const services = [...project.services.values()];
  if (gatewayName !== undefined) return project.services.get(gatewayName) ?? unknownService(project, gatewayName);
  let candidates = services;
  for (const hasSign of gatewaySigns) {
    const matching = candidates.filter((service) => hasSign(service, routes, project));
    const [only] = matching;
    if (only && matching.length === 1) return only;
    if (matching.length > 1) candidates = matching;
  }
  const names = listed(candidates.map(({ name }) => name));
  const fileStart = { file: project.files[0] ?? '', line: 1, column: 1 };
  if (services.length === 0)
    return faultIn(fileStart, ['services'], 'The project has no services.', 'Name the file that has the gateway.');
  const message = `It is not clear which service is the gateway: ${names}.`;
  return faultIn(candidates[0]?.at ?? fileStart, ['services'], message, 'Name it with --compose-service NAME.');
}

function isFault(found: Service | Fault): found is Fault {
  return 'message' in found;
}

function unknownService(project: Project, name: string): Fault {
  const names = [...project.services.keys()];
  const best = nearest(name, names);
  const remedy = best === undefined ? `Name one of ${listed(names)}.` : `Did you mean ${shortened(best)}?`;
  const at = { file: project.files[0] ?? '', line: 1, column: 1 };
  return faultIn(at, ['services'], `The service ${shortened(name)} does not exist.`, remedy);
}

function namesGateway(text: string): boolean {
  return /version-gateway/.test(text);
}

function variablesOf(text: string): string[] {
  return [...text.matchAll(/(?<!\$)\$\{?([A-Za-z_]\w*)/g)].map(([, name]) => name ?? '');
}

function findingsOfAllRules(context: ComposeContext): ComposeFinding[] {
  return Object.values(composeRules).flatMap((rule) => rule(context));
}
