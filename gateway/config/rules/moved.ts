import type { Fault } from '../fault.ts';
import { faultAt } from '../source.ts';
import type { ConfigRule } from './rule.ts';

/** Both sides of a `moved` row are path templates below the version. */
export const movedTemplates: ConfigRule = ({ source, entries }) =>
  entries.flatMap(({ key, route }) =>
    Object.entries(route.moved ?? {}).flatMap(([from, to]) => {
      const path = ['routes', key, 'moved', from];
      const faults = problemsOf(from).map(([message, remedy]) => faultAt(source, path, message, remedy, 'key'));
      const target =
        to === null ? [] : problemsOf(to).map(([message, remedy]) => faultAt(source, path, message, remedy));
      return [...faults, ...target];
    }),
  );

/** The new path takes its parameters from the old one: by name, or by position for a new name. */
export const movedParameters: ConfigRule = ({ source, entries }) =>
  entries.flatMap(({ key, route }) =>
    Object.entries(route.moved ?? {}).flatMap(([from, to]) => {
      const given = parametersOf(from);
      const wanted = parametersOf(to ?? '');
      const unnamed = given.filter((name) => !wanted.includes(name));
      const lacking = wanted.filter((name) => !given.includes(name)).slice(unnamed.length);
      const remedy = `Use the parameters of ${from}, or write null if there is no counterpart.`;
      return lacking.map((name) =>
        faultAt(
          source,
          ['routes', key, 'moved', from],
          `{${name}} has no value, because ${from} has no such parameter.`,
          remedy,
        ),
      );
    }),
  );

/** `/drinks/{id}` and `/drinks/{name}` match the same paths, so only one of them could apply. */
export const movedRowsDiffer: ConfigRule = ({ source, entries }) =>
  entries.flatMap(({ key, route }) => {
    const seen = new Map<string, string>();
    const faults: Fault[] = [];
    for (const from of Object.keys(route.moved ?? {})) {
      const shape = from.replace(/\{[^{}]*\}/g, '{}');
      const first = seen.get(shape);
      const path = ['routes', key, 'moved', from];
      if (first === undefined) seen.set(shape, from);
      else
        faults.push(
          faultAt(source, path, `${from} matches the same paths as ${first}.`, 'Keep one of the two.', 'key'),
        );
    }
    return faults;
  });

// The characters of a path (RFC 3986 §3.3), and braces. The path is written between the angle brackets of a Link.
const allowed = /^[\w\-.~!$&'()*+,;=:@%/{}]*$/;

function problemsOf(template: string): [message: string, remedy: string][] {
  if (!template.startsWith('/'))
    return [[`${template} does not begin with /.`, 'Write a path below the version, such as /drinks/{id}.']];
  const version = /^\/v\d+(?=\/|$)/.exec(template)?.[0];
  if (version) {
    return [[`${template} has a version in it.`, `Leave ${version} out: templates begin below the version.`]];
  }
  const rest = template.replace(/\{[^{}/]+\}/g, '');
  if (/[{}]/.test(rest)) return [[`${template} has a brace that is not part of a {parameter}.`, 'Write {name}.']];
  return allowed.test(rest)
    ? []
    : [[`${template} has a character that is not allowed in a path.`, 'Percent-encode it.']];
}

function parametersOf(template: string): string[] {
  return [...template.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? '');
}
