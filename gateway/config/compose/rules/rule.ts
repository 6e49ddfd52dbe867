import type { Source } from '../../source.ts';
import type { Answer } from '../answer.ts';
import type { Finding } from '../finding.ts';
import type { Project } from '../project.ts';
import type { Service } from '../service.ts';
import type { Target } from '../targets.ts';

/** The two files, side by side. */
export interface Pair {
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
  readonly target: Target;
  readonly answer: Answer;
}

/** Looks at a pair of files, and says what does not fit; it never throws. */
export type ComposeRule = (pair: Pair) => Finding[];

/** Those that are asked by a version that is served. */
export function servedTargets({ versions }: Pair): readonly Answered[] {
  return versions.flatMap(({ isRetired, targets }) => (isRetired ? [] : targets));
}

export function servicesOf(targets: readonly Answered[]): ReadonlySet<Service> {
  return new Set(targets.flatMap(({ answer }) => (answer.kind === 'services' ? answer.services : [])));
}

/** `v1`, `api-v1`, `v1.api` */
export function isNamedFor(service: string, version: string): boolean {
  return service.toLowerCase().split(/[-_.]/).includes(version);
}
