import { dirname } from 'node:path';
import { byPlace, type Fault } from '../fault.ts';
import { realPathOf } from '../location.ts';
import { nearest } from '../nearest.ts';
import { readYaml } from '../readDocument.ts';
import type { Version } from '../snapshot.ts';
import { type ConfigResult, validate } from '../validate.ts';
import { brief, faultIn, listed } from './finding.ts';
import { opaque } from './interpolate.ts';
import { allTexts, child } from './node.ts';
import type { Project } from './project.ts';
import { findingsIn } from './rules.ts';
import { mountsOf, type Service } from './service.ts';
import { resolveHost, targetsOf } from './upstreams.ts';

/** A routes.yaml, and what has to be known to judge it beside a Compose file. */
export interface Routes {
  readonly text: string;
  /** As faults name it. */
  readonly file: string;
  /** Absolute. */
  readonly path: string;
  readonly now: number;
  readonly isRetired: (version: Version) => boolean;
}

export interface ComposeResult {
  /** Of both files: unlike that of a routes.yaml alone, it may have a snapshot and faults. */
  readonly verdict: ConfigResult;
  /** The service that is the gateway; undefined if that is not clear. */
  readonly gateway: string | undefined;
}

/**
 * Holds a routes.yaml against a Compose project, in the environment that the gateway has there. `named` is its
 * service, `running` the services of which an engine says that they run.
 */
export function compareWithCompose(
  routes: Routes,
  project: Project,
  named?: string,
  running?: ReadonlySet<string>,
): ComposeResult {
  const { verdict, gateway } = holdWhatIsSet(routes, project, named, running);
  const isOfUnset = ({ message, value = '' }: Fault): boolean => message.includes(opaque) || value.includes(opaque);
  const known = (faults: readonly Fault[]): Fault[] => faults.filter((fault) => !isOfUnset(fault));
  const faults = sorted([...known(verdict.faults), ...project.missing], orderOf(routes, project));
  return { gateway, verdict: { ...verdict, faults, warnings: known(verdict.warnings) } };
}

function holdWhatIsSet(routes: Routes, project: Project, named?: string, running?: ReadonlySet<string>): ComposeResult {
  const gateway = gatewayIn(project, routes, named);
  // Of half a project most of what could be said would be wrong.
  if (project.faults.length > 0) return { verdict: refusal(project.faults), gateway: undefined };
  if (!('networks' in gateway)) return { verdict: refusal([gateway]), gateway: undefined };
  const env = Object.fromEntries([...gateway.environment].map(([name, { text }]) => [name, text]));
  const reading = readYaml(routes.text, routes.file, dirname(routes.path), env);
  const verdict = validate(reading, routes.now);
  const { snapshot } = verdict;
  if (!snapshot) return { verdict, gateway: gateway.name };
  const targets = targetsOf(snapshot, reading.source, routes.text);
  const versions = snapshot.byMajor.map((version) => ({
    name: version.name,
    isRetired: routes.isRetired(version),
    targets: targets
      .filter((target) => target.version === version.name)
      .map((target) => ({ target, answer: resolveHost(target, project, gateway) })),
  }));
  const found = findingsIn({ source: reading.source, routesFile: routes.path, project, gateway, versions, running });
  const of = (level: 'fault' | 'warning'): Fault[] =>
    found.filter((finding) => finding.level === level).map(({ fault }) => fault);
  const order = orderOf(routes, project);
  return {
    gateway: gateway.name,
    verdict: {
      snapshot,
      faults: sorted(of('fault'), order),
      warnings: sorted([...verdict.warnings, ...project.warnings, ...of('warning')], order),
    },
  };
}

function orderOf({ file }: Routes, { texts }: Project): string[] {
  return [file, ...texts.keys()];
}

function refusal(faults: readonly Fault[]): ConfigResult {
  return { snapshot: undefined, faults: sorted(faults, []), warnings: [] };
}

function sorted(faults: readonly Fault[], order: readonly string[]): Fault[] {
  const rank = ({ file }: Fault): number => order.indexOf(file ?? '');
  return faults.toSorted((a, b) => rank(a) - rank(b) || byPlace(a, b));
}

/** What speaks for a service being the gateway, the strongest sign first. */
const signs: readonly ((service: Service, routes: Routes, project: Project) => boolean)[] = [
  (service, { path }, { folders }) => mountsOf(service, folders).some(({ source }) => realPathOf(source) === path),
  ({ node }) => ['image', 'build', 'command', 'entrypoint'].some((key) => allTexts(child(node, key)).some(isOurs)),
  ({ environment }, { text }) => variablesOf(text).some((name) => environment.has(name)),
  ({ name }) => /^(?:(?:version|api)[-_.])?gateway$/i.test(name),
];

/** The service that is the gateway: the one that was `named`, or the one that the signs leave. */
function gatewayIn(project: Project, routes: Routes, named: string | undefined): Service | Fault {
  const all = [...project.services.values()];
  if (named !== undefined) return project.services.get(named) ?? unknown(project, named);
  let left = all;
  for (const sign of signs) {
    const shown = left.filter((service) => sign(service, routes, project));
    const [only] = shown;
    if (only && shown.length === 1) return only;
    if (shown.length > 1) left = shown;
  }
  const names = listed(left.map(({ name }) => name));
  const at = { file: project.files[0] ?? '', line: 1, column: 1 };
  if (all.length === 0)
    return faultIn(at, ['services'], 'There is no service here.', 'Name the file that has the gateway.');
  const message = `Nothing tells which service is the gateway: ${names}.`;
  return faultIn(left[0]?.at ?? at, ['services'], message, 'Say it with --compose-service NAME.');
}

function unknown(project: Project, named: string): Fault {
  const names = [...project.services.keys()];
  const best = nearest(named, names);
  const remedy = best === undefined ? `Name one of ${listed(names)}.` : `Did you mean ${brief(best)}?`;
  const at = { file: project.files[0] ?? '', line: 1, column: 1 };
  return faultIn(at, ['services'], `There is no service ${brief(named)}.`, remedy);
}

function isOurs(text: string): boolean {
  return /version-gateway/.test(text);
}

function variablesOf(text: string): string[] {
  return [...text.matchAll(/(?<!\$)\$\{?([A-Za-z_]\w*)/g)].map(([, name]) => name ?? '');
}
