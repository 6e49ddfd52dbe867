import { type Fault, mask, printable, show } from '../fault.ts';
import type { Source } from '../source.ts';
import type { FilePosition } from './node.ts';
import type { Project } from './project.ts';
import type { Service } from './service.ts';
import type { ComposeTarget, HostResolution } from './upstreams.ts';

/** What does not fit together: a fault is wrong in any case, a warning hardly meant. */
export interface ComposeFinding {
  readonly level: 'fault' | 'warning';
  readonly fault: Fault;
}

export function warning(fault: Fault): ComposeFinding {
  return { level: 'warning', fault };
}

export function serious(fault: Fault): ComposeFinding {
  return { level: 'fault', fault };
}

/** A fault in a Compose file; `path` is that of the whole project, wherever its parts stand. */
export function faultIn(
  at: FilePosition,
  path: readonly string[],
  message: string,
  remedy: string,
  value?: string,
): Fault {
  return {
    file: at.file,
    line: at.line,
    column: at.column,
    path: printable(mask(path.map((key) => brief(key)).join('.'))),
    value: value === undefined ? undefined : show(value, path),
    message: printable(mask(message)),
    remedy: printable(mask(remedy)),
  };
}

/** A name as messages say it; names of files that somebody else wrote may be of any length. */
export function brief(name: string, longest = 80): string {
  return name.length > longest ? `${name.slice(0, longest - 1)}…` : name;
}

/** `v1, v2 and 3 others` */
export function listed(names: readonly string[]): string {
  const shown = names
    .slice(0, 8)
    .map((name) => brief(name))
    .join(', ');
  return names.length > 8 ? `${shown} and ${names.length - 8} others` : shown;
}

/** The two files, side by side. */
export interface ComposeContext {
  /** Of routes.yaml. */
  readonly source: Source;
  /** Absolute. */
  readonly routesFile: string;
  readonly project: Project;
  readonly gateway: Service;
  readonly versions: readonly Version[];
  /** Names of services of which an engine says that they run; undefined where no engine answers. */
  readonly running: ReadonlySet<string> | undefined;
}

interface Version {
  /** `v1` */
  readonly name: string;
  readonly isRetired: boolean;
  readonly targets: readonly Answered[];
}

interface Answered {
  readonly target: ComposeTarget;
  readonly answer: HostResolution;
}

/** Looks at a pair of files, and says what does not fit; it never throws. */
export type ComposeRule = (pair: ComposeContext) => ComposeFinding[];

/** Those that are asked by a version that is served. */
export function servedTargets({ versions }: ComposeContext): readonly Answered[] {
  return versions.flatMap(({ isRetired, targets }) => (isRetired ? [] : targets));
}

export function servicesOf(targets: readonly Answered[]): ReadonlySet<Service> {
  return new Set(targets.flatMap(({ answer }) => (answer.kind === 'services' ? answer.services : [])));
}

/** `v1`, `api-v1`, `v1.api` */
export function isNamedFor(service: string, version: string): boolean {
  return service.toLowerCase().split(/[-_.]/).includes(version);
}
