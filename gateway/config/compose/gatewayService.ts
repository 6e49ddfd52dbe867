import type { Fault } from '../fault.ts';
import { realPathOf } from '../location.ts';
import { nearest } from '../nearest.ts';
import { brief, faultIn, listed } from './finding.ts';
import { mountsOf } from './mounts.ts';
import { allTexts, child } from './node.ts';
import type { Project } from './project.ts';
import type { Service } from './service.ts';

/** What speaks for a service being the gateway, the strongest sign first. */
const signs: readonly ((service: Service, routes: Routes, project: Project) => boolean)[] = [
  (service, { file }, { folders }) => mountsOf(service, folders).some(({ source }) => realPathOf(source) === file),
  ({ node }) => ['image', 'build', 'command', 'entrypoint'].some((key) => allTexts(child(node, key)).some(isOurs)),
  ({ environment }, { text }) => variablesOf(text).some((name) => environment.has(name)),
  ({ name }) => /^(?:(?:version|api)[-_.])?gateway$/i.test(name),
];

interface Routes {
  /** Absolute. */
  readonly file: string;
  readonly text: string;
}

/** The service that is the gateway: the one that was `named`, or the one that the signs leave. */
export function gatewayIn(project: Project, routes: Routes, named: string | undefined): Service | Fault {
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
