import { plural, printable, printableExcerpt } from '../../shared/text.ts';
import { routeInWords } from '../diff/routes.ts';
import type { TextPosition } from '../document/textPositions.ts';
import type { StaleExemption } from '../exemptions.ts';
import type { Finding, RouteName } from '../finding.ts';
import type { PlacedFinding } from './report.ts';

/** Text of a contract, which may be anybody's and of any length, fit to be printed. */
export function shown(text: string, length = 300): string {
  // A pipeline of GitHub's takes a line for a command if it begins with two colons, or holds the older `##[`.
  return printableExcerpt(text, length)
    .replaceAll('##[', '#\\x23[')
    .replace(/^\s*::/, '\\x3a:');
}

/** The finding's own words, without the route that they begin with. */
export function saidOf({ sentence, routes }: Pick<Finding, 'sentence' | 'routes'>): string {
  const name = routes[0] && routeInWords(routes[0]);
  if (name === undefined || !sentence.startsWith(name)) return sentence;
  return sentence.slice(name.length).replace(/^:? /, '');
}

/** The route under which a finding stands: the first that it reaches. */
export function headingOf({ routes }: Pick<Finding, 'routes'>): string {
  return routes[0] ? routeInWords(routes[0]) : 'the document';
}

/** "and 49 more routes: GET /a, GET /b, …"; empty for a finding of one route. */
export function moreRoutes(routes: readonly RouteName[], named: number): string {
  const more = routes.slice(1);
  if (more.length === 0) return '';
  const names = more.slice(0, named).map((route) => shown(routeInWords(route), 100));
  return `and ${plural(more.length, 'more route')}: ${names.join(', ')}${more.length > named ? ', …' : ''}`;
}

/** "called 12,345 times in 30 days"; empty where nobody counted. */
export function callsInWords({ calls }: PlacedFinding): string {
  if (calls === undefined) return '';
  return calls === 0 ? 'not called in 30 days' : `called ${plural(calls, 'time')} in 30 days`;
}

/** `openapi.yaml:12:9`, as terminals and editors know it. */
export function placeInWords(file: string, at: TextPosition | undefined): string {
  return shown(at ? `${cutInFront(file)}:${at.line}:${at.column}` : cutInFront(file));
}

/** Why an exemption is no longer of use, and what to do. */
export function staleInWords({ exemption, why }: StaleExemption): string {
  const { rule, route, until } = exemption;
  const named = `The exemption from ${shown(rule, 60)} for ${shown(route, 100)}`;
  return why === 'expired'
    ? `${named} ended on ${dayOf(until)}.  Look at the change again: set a later until, or remove the exemption.`
    : `${named} lets nothing through.  Remove it, or correct its rule, route or pointer.`;
}

export function dayOf(instant: number): string {
  return new Date(instant).toISOString().slice(0, 10);
}

/** The end of a path says more than its beginning. */
function cutInFront(path: string): string {
  return path.length > 200 ? `…${printable(path.slice(-199))}` : path;
}
