import { dirname } from 'node:path';
import { byPlace, type Fault } from '../fault.ts';
import { readYaml } from '../readYaml.ts';
import type { Version } from '../snapshot.ts';
import { type Verdict, validate } from '../validate.ts';
import { answerTo } from './answer.ts';
import { gatewayIn } from './gatewayService.ts';
import { opaque } from './interpolate.ts';
import type { Project } from './project.ts';
import { findingsIn } from './rules.ts';
import { targetsOf } from './targets.ts';

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

export interface Held {
  /** Of both files: unlike that of a routes.yaml alone, it may have a snapshot and faults. */
  readonly verdict: Verdict;
  /** The service that is the gateway; undefined if that is not clear. */
  readonly gateway: string | undefined;
}

/**
 * Holds a routes.yaml against a Compose project, in the environment that the gateway has there. `named` is its
 * service, `running` the services of which an engine says that they run.
 */
export function hold(routes: Routes, project: Project, named?: string, running?: ReadonlySet<string>): Held {
  const { verdict, gateway } = holdWhatIsSet(routes, project, named, running);
  const isOfUnset = ({ message, value = '' }: Fault): boolean => message.includes(opaque) || value.includes(opaque);
  const known = (faults: readonly Fault[]): Fault[] => faults.filter((fault) => !isOfUnset(fault));
  const faults = sorted([...known(verdict.faults), ...project.missing], orderOf(routes, project));
  return { gateway, verdict: { ...verdict, faults, warnings: known(verdict.warnings) } };
}

function holdWhatIsSet(routes: Routes, project: Project, named?: string, running?: ReadonlySet<string>): Held {
  const gateway = gatewayIn(project, { file: routes.path, text: routes.text }, named);
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
      .map((target) => ({ target, answer: answerTo(target, project, gateway) })),
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

function refusal(faults: readonly Fault[]): Verdict {
  return { snapshot: undefined, faults: sorted(faults, []), warnings: [] };
}

function sorted(faults: readonly Fault[], order: readonly string[]): Fault[] {
  const rank = ({ file }: Fault): number => order.indexOf(file ?? '');
  return faults.toSorted((a, b) => rank(a) - rank(b) || byPlace(a, b));
}
