import { posix } from 'node:path';
import type { TextPosition } from '../../../contract/document/positions.ts';
import type { RouteName } from '../../../contract/routes.ts';
import { dayText } from '../../../shared/instant.ts';
import { plural, printable, safeText } from '../../../shared/text.ts';
import type { Finding, Site } from '../judge/findings.ts';
import type { CompatReport, PlacedFinding, StaleExemption } from '../judge/judge.ts';
import { looksRenamedPhrase, routeInWords } from '../rules/words.ts';

/** Whether the contract has the part. The site of a removed part in the new contract has a place, but no value. */
export function existsInContract(site: Site | undefined): site is Site {
  return site?.value !== undefined;
}

/** "response 200 field `price` was removed". */
export function sentenceWithoutRoute({ sentence, routes }: Pick<Finding, 'sentence' | 'routes'>): string {
  const name = routes[0] && routeInWords(routes[0]);
  if (name === undefined || !sentence.startsWith(name)) return sentence;
  return sentence.slice(name.length).replace(/^:? /, '');
}

/** The remarks that are not about a finding. */
export function notesOf({ notCompared, unknownCalls }: CompatReport): readonly string[] {
  return unknownCalls === undefined ? notCompared : [...notCompared, unknownCalls];
}

/** The first route of a finding. Reports group findings by it. */
export function firstRouteOf({ routes }: Pick<Finding, 'routes'>): string {
  return routes[0] ? routeInWords(routes[0]) : 'the document';
}

/** What a report adds to the sentence of a finding. `maxLength`: of its likely new name. */
export function findingNotes(finding: PlacedFinding, maxNames: number, maxLength?: number): string[] {
  const notes = [renameNote(finding, maxLength), callsInWords(finding), moreRoutes(finding.routes, maxNames)];
  return notes.filter((note) => note !== '');
}

/** "It looks renamed to `total`."; empty without a likely name. */
function renameNote({ renamedTo }: Finding, maxLength?: number): string {
  return renamedTo === undefined ? '' : `It ${safeText(looksRenamedPhrase(renamedTo), maxLength)}.`;
}

/** "and 49 more routes: GET /a, GET /b, …"; empty for a finding of one route. */
function moreRoutes(routes: readonly RouteName[], maxNames: number): string {
  const more = routes.slice(1);
  if (more.length === 0) return '';
  const names = more.slice(0, maxNames).map((route) => safeText(routeInWords(route), 100));
  return `and ${plural(more.length, 'more route')}: ${names.join(', ')}${more.length > maxNames ? ', …' : ''}`;
}

/** "called 12,345 times in 30 days"; empty if calls were not counted. */
function callsInWords({ calls }: PlacedFinding): string {
  if (calls === undefined) return '';
  return calls === 0 ? 'not called in 30 days' : `called ${plural(calls, 'time')} in 30 days`;
}

/** `openapi.yaml:12:9`, a form that terminals and editors turn into a link. */
export function placeInWords(file: string, at?: TextPosition): string {
  return safeText(at ? `${withoutBeginning(file)}:${at.line}:${at.column}` : withoutBeginning(file));
}

/** Why an exemption is stale, and what to do. */
export function staleInWords({ exemption, why }: StaleExemption): string {
  const { rule, route, until } = exemption;
  const subject = `The exemption from ${safeText(rule, 60)} for ${safeText(route, 100)}`;
  return why === 'expired'
    ? `${subject} expired on ${dayText(until)}.  Review the change, then set a later date or remove the exemption.`
    : `${subject} matches no finding.  Remove it, or correct its rule, route or pointer.`;
}

/** Cuts the beginning of a long path, because the end identifies the file. */
function withoutBeginning(path: string): string {
  return path.length > 200 ? `…${printable(path.slice(-199))}` : path;
}

// `C:\`
const drivePrefix = /^[a-z]:[\\/]/i;
// `origin/main:` or `HEAD@{1 day ago}:` in front of a path, or `:` for the index of Git; neither a drive nor the scheme of a URL.
const commitPrefix = /^(?![a-z]:[\\/])(?:[^:./\\\s{](?:[^:\s{]|\{[^}]*\})*)?:(?!\/\/)/i;

/** Absolute paths in the working tree of Git. */
export interface WorkingTree {
  readonly root: string;
  /** Relative paths of contracts are relative to this folder; default: the root. */
  readonly folder?: string;
}

/** The path of a contract in the working tree, without the commit: `api.yaml` for `origin/main:api.yaml`. */
export function pathOf(name: string, { root, folder = root }: WorkingTree): string {
  if (isUrl(name)) return name;
  const path = name.replace(commitPrefix, '').replaceAll('\\', '/');
  // Git resolves `main:api.yaml` from the root, and `main:./api.yaml` from the folder.
  const isFromRoot = commitPrefix.test(name) && !path.startsWith('.');
  const [treePath, folderPath] = [root, folder].map((absolute) => absolute.replaceAll('\\', '/').replace(/\/$/, ''));
  const isAbsolute = path.startsWith('/') || drivePrefix.test(path);
  const full = isAbsolute ? path : posix.join(`${isFromRoot ? treePath : folderPath}/`, path);
  return full.startsWith(`${treePath}/`) ? full.slice(`${treePath}/`.length) : full;
}

/** The path as a URI reference (RFC 3986); relative if the path is. */
export function uriOf(name: string, workingTree: WorkingTree): string {
  const path = pathOf(name, workingTree);
  if (isUrl(path)) return URL.parse(path)?.href ?? encoded(path);
  if (drivePrefix.test(path)) return `file:///${encoded(path).replace('%3A', ':')}`;
  return path.startsWith('/') ? `file://${encoded(path)}` : encoded(path);
}

function encoded(path: string): string {
  return path
    .split('/')
    .map((segment) => encodeURIComponent(segment.toWellFormed()))
    .join('/');
}

function isUrl(name: string): boolean {
  return /^[a-z][a-z\d+.-]+:\/\//i.test(name);
}
