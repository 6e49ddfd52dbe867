import { keysTo } from '../../../contract/document/located.ts';
import type { Route } from '../../../contract/routes.ts';
import type { Change, PartStep, PathStep } from '../diff/change.ts';
import type { CollectedChange } from '../judge/findings.ts';
import type { Occurrence } from '../rules/rules.ts';
import { isPart, stepInWords, whatChanged } from '../rules/words.ts';
import { inBackticks } from './guide.ts';

/** The place of a change, or of the subject of a group, in one route. */
export interface RouteOccurrence {
  readonly route: Route;
  readonly steps: readonly PathStep[];
}

/** The changes of one subject in the same routes. A guide lists them together. */
export interface ChangeGroup {
  /** What is changed: a named schema (`Drink` in backticks), `Parameters`, `Access`, or a part such as `Response 200`. */
  readonly subject: string;
  /** The subject in each route. If there are several, the group is shared. */
  readonly occurrences: readonly [RouteOccurrence, ...RouteOccurrence[]];
  readonly changes: GroupedChange[];
}

export interface GroupedChange {
  readonly change: Change;
  /** From the subject of the group to the change. */
  readonly steps: readonly PathStep[];
  /** The same steps as keys of a value, with the name of the change at the end. */
  readonly path: readonly string[];
}

/** Groups changes by subject. Changes that belong to no route are left out. */
export function groupChanges(changes: readonly CollectedChange[]): ChangeGroup[] {
  const groups = new Map<string, ChangeGroup>();
  const routeIds = new Map<Route, number>();
  const idOf = (route: Route): number => {
    const id = routeIds.get(route) ?? routeIds.size;
    routeIds.set(route, id);
    return id;
  };
  for (const { change, occurrences } of changes) {
    const inRoutes = occurrences.filter(isInRoute);
    const component = inRoutes.length > 1 ? componentOf(change) : undefined;
    for (const [first, ...others] of component ? [inRoutes] : bySteps(inRoutes)) {
      if (!first) continue;
      const steps = component?.steps ?? stepsFromSubject(first.steps, change);
      const subject = component ? inBackticks(component.name) : subjectOfPart(first.steps, change);
      const key = JSON.stringify([subject, [first, ...others].map(({ route }) => idOf(route))]);
      const group = groups.get(key) ?? {
        subject,
        occurrences: [withoutEnd(first, steps), ...others.map((one) => withoutEnd(one, steps))],
        changes: [],
      };
      group.changes.push({ change, steps, path: [...splitSteps(steps).path, ...keyOfField(change)] });
      groups.set(key, group);
    }
  }
  return [...groups.values()];
}

/** Without a named schema, routes share a change only if it is at the same place in each of them. */
function bySteps(occurrences: readonly RouteOccurrence[]): RouteOccurrence[][] {
  return [...Map.groupBy(occurrences, ({ steps }) => JSON.stringify(steps.map(stepInWords))).values()];
}

/** Splits steps at the first field or item: into the parts before it, such as a response, and the path within the body. */
export function splitSteps(steps: readonly PathStep[]): { readonly parts: PartStep[]; readonly path: string[] } {
  const bodyStart = steps.findIndex((step) => !isPart(step));
  const parts = (bodyStart === -1 ? steps : steps.slice(0, bodyStart)).filter(isPart);
  const stepsInBody = bodyStart === -1 ? [] : steps.slice(bodyStart);
  // A part after a field is an alternative of a choice. An example value has no key for it, so the path ends at the choice.
  const end = stepsInBody.findIndex(isPart);
  return { parts, path: (end === -1 ? stepsInBody : stepsInBody.slice(0, end)).map(stepInWords) };
}

function isInRoute(occurrence: Occurrence): occurrence is Occurrence & RouteOccurrence {
  return occurrence.route !== undefined;
}

/** The named schema of `components` that contains a change: clients often generate types from it. */
function componentOf({ kind, old, new: newSide }: Change): { name: string; steps: PathStep[] } | undefined {
  const place = (old ?? newSide)?.place;
  const keys = place ? keysTo(place) : [];
  const componentsIndex = keys.findIndex((key, index) => key === 'components' && keys[index + 1] === 'schemas');
  const name = componentsIndex === -1 ? undefined : keys[componentsIndex + 2];
  if (name === undefined) return undefined;
  const steps = stepsAlong(keys.slice(componentsIndex + 3));
  // The steps to a changed field end at its object. `keyOfField` has the key of the field.
  if (kind === 'field' && steps.at(-1)?.kind === 'field') steps.pop();
  return { name, steps };
}

/** Translates the keys that lead into a schema to the steps that lead into its values. */
function stepsAlong(keys: readonly string[]): PathStep[] {
  const steps: PathStep[] = [];
  for (let index = 0; index < keys.length; index += 1) {
    const [key, next] = [keys[index], keys[index + 1]];
    if (key === 'items') steps.push({ kind: 'items' });
    else if (key === 'properties' && next !== undefined) steps.push({ kind: 'field', name: next });
    if (key === 'properties') index += 1;
  }
  return steps;
}

/** All parameters of a route are one subject; otherwise the first part is the subject. */
function stepsFromSubject(steps: readonly PathStep[], change: Change): readonly PathStep[] {
  return isAboutParameter(steps, change) || !steps[0] || !isPart(steps[0]) ? steps : steps.slice(1);
}

function subjectOfPart(steps: readonly PathStep[], change: Change): string {
  const [first] = steps;
  if (isAboutParameter(steps, change)) return 'Parameters';
  if (change.kind === 'security') return 'Access';
  if (change.kind === 'body') return 'Request body';
  if (!first || !isPart(first)) return /status$/.test(change.kind) ? 'Responses' : 'The route';
  const text = stepInWords(first);
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

function isAboutParameter([first]: readonly PathStep[], { kind }: Change): boolean {
  return kind === 'parameter' || first?.kind === 'parameter';
}

/** The key of a field that changed, or became required or optional (`presence`). Empty for other changes. */
function keyOfField(change: Change): string[] {
  const { kind, name } = change;
  return (kind === 'field' || kind === 'presence') && name !== '' ? [whatChanged(change)] : [];
}

/** Removes `end`, the steps from the subject to the change. If the steps of an occurrence do not end with `end`, all are kept. */
function withoutEnd({ route, steps }: RouteOccurrence, end: readonly PathStep[]): RouteOccurrence {
  const endStart = steps.length - end.length;
  const lastKeys = steps.slice(endStart).map(stepInWords);
  const isEnd = endStart >= 0 && end.every((step, index) => stepInWords(step) === lastKeys[index]);
  return { route, steps: isEnd ? steps.slice(0, endStart) : steps };
}
