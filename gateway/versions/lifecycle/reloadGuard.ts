import type { AcceptedApi, AcceptedConfig, AcceptedVersion } from '../../config/acceptedConfig.ts';
import { type Apis, apiOf, forceReasons, type GuardSettings } from '../../config/api.ts';
import type { BrownoutSettings } from '../../config/clientRules.ts';
import { forcePlaceholder, routeShapeOf } from '../../config/rules/lifecycle.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { dateText, dayText, rfc3339 } from '../../shared/instant.ts';
import { ago, inWholeUnits, plural, printableExcerpt } from '../../shared/text.ts';
import { atAndIn, type CallEvidence } from '../../usage/evidence/callEvidence.ts';
import { brownoutMessages, sparedMessages } from './brownouts.ts';
import { clientsSparedByFreeze, stageOf, successorOf } from './stage.ts';

/** Why a valid edit is not applied, and the line that applies it anyway. */
export interface Refusal {
  /** The id: `v1`. */
  readonly version: string;
  readonly message: string;
  /** The line to add to routes.yaml. */
  readonly force: string;
  /** False: the edit may break no client, but calls may be missing. Absent: it is known. */
  readonly known?: boolean;
}

/** How versions are used, as far as it is known. */
export interface VersionUsage {
  /** Whether a version was called within `guard.quiet`. Calls that got 410 count. Undefined: calls are not part of the question. */
  calls(version: string): CallEvidence | undefined;
  /** Describes its recent clients; undefined if unknown. */
  clients?(version: string): string | undefined;
  /** Describes the clients that a freeze of the edit would refuse although they are served now; undefined: none, or unknown. */
  refusedByFreeze?(version: string): string | undefined;
  /** What is missing until the adapter of the edit may serve the version; undefined: nothing, or the adapter serves it already. */
  whyAdapterCannotServe?(version: string): string | undefined;
}

interface EditedConfig extends AcceptedConfig {
  readonly apis: Apis<EditedApi>;
}

interface EditedApi extends AcceptedApi {
  readonly guard: GuardSettings;
  readonly brownout: Pick<BrownoutSettings, 'notice' | 'spared'>;
}

/** The reasons to refuse an edit because it breaks what the current configuration has announced to clients. */
export function guardReload(before: AcceptedConfig, after: EditedConfig, use: VersionUsage, now: number): Refusal[] {
  return before.sortedVersions.flatMap((old) => {
    if (isForced(old.name, before, after)) return [];
    const version = after.versions.get(old.name);
    const api = apiOf(old.name, after);
    const known = [
      ...endMessages(old, version, now),
      ...waiverMessages(old, version, now),
      ...(version
        ? [
            ...sunsetMessages(old, version, api.guard, now),
            ...successorMessages(old, version, before, after, now),
            ...brownoutMessages(old, version, api.brownout.notice, now),
            ...sparedMessages(old, version, apiOf(old.name, before).brownout.spared, api.brownout, now),
            ...freezeMessages(old, version, use),
            ...adapterMessages(old.name, use),
          ]
        : []),
    ];
    const refusal = (message: string) => ({ version: old.name, message, force: forceLine([old.name]) });
    const calls = endsSoon(old, version, api.guard, now)
      ? callRefusal(old, version, api.guard.quiet, use, now)
      : undefined;
    return [...known.map(refusal), ...(calls ? [{ ...refusal(calls.message), known: calls.known }] : [])];
  });
}

/** All messages, then the line that applies the edit anyway. */
export function refusalLines(refusals: readonly Refusal[]): string[] {
  if (refusals.length === 0) return [];
  const versions = [...new Set(refusals.map(({ version }) => version))];
  const messages = refusals.map(({ message }) => message);
  return [...messages, `To apply the edit anyway, add the reason to routes.yaml: ${forceLine(versions)}`];
}

export function forceLine(versions: readonly string[]): string {
  return `guard: { force: { ${versions.map((version) => `/${version}: "${forcePlaceholder}"`).join(', ')} } }`;
}

/** Each reason is used once, in the reload in which its text is new, so that it does not force a later edit. */
export function isForced(name: string, before: AcceptedConfig, after: AcceptedConfig): boolean {
  const reasonsBefore = forceReasons(name, before);
  return forceReasons(name, after).some((reason) => !reasonsBefore.includes(reason));
}

/** The versions that the edit retires or removes, now or within `guard.quiet`. */
export function endedVersions(before: AcceptedConfig, after: EditedConfig, now: number): string[] {
  const ended = before.sortedVersions.filter((old) =>
    endsSoon(old, after.versions.get(old.name), apiOf(old.name, after).guard, now),
  );
  return ended.map(({ name }) => name);
}

/** A freeze that refuses clients, and its version. */
export interface RefusingFreeze extends Omit<NonNullable<AcceptedVersion['freeze']>, 'mode'> {
  readonly version: string;
}

/** The freezes of the edit that may refuse clients that were served before it. */
export function stricterFreezes(before: AcceptedConfig, after: AcceptedConfig, now: number): RefusingFreeze[] {
  return after.sortedVersions.flatMap((version) => {
    const { name, freeze } = version;
    const old = before.versions.get(name);
    if (freeze?.mode !== 'refuse' || old === undefined || JSON.stringify(freeze) === JSON.stringify(old.freeze))
      return [];
    return [{ version: name, from: freeze.from, allow: clientsSparedByFreeze(version, now) }];
  });
}

/** The message about clients that a freeze would refuse, although they are served now and nothing was announced to them. */
function freezeMessages(old: AcceptedVersion, version: AcceptedVersion, use: VersionUsage): string[] {
  const clients = version.freeze?.mode === 'refuse' ? use.refusedByFreeze?.(old.name) : undefined;
  if (clients === undefined) return [];
  const what = `The freeze of /${old.name} would refuse clients that are served now`;
  return [`${what}; ${clients}. Move its \`from\` to a later date, list them in \`allow\`, or use mode: report.`];
}

/** An adapter that would begin to serve clients. */
export interface NewServingAdapter {
  /** The adapted version: `v1`. */
  readonly version: string;
  /** The digests of two contracts: of this version, and of the version whose backend answers. */
  readonly contractDigest: string | undefined;
  /** The digest of the contract of the version whose backend answers. */
  readonly fromContractDigest: string | undefined;
  /** Changes with the settings of the adapter and with both contracts. */
  readonly hash: string | undefined;
  /** How many comparisons without an undeclared difference each route in use needs. */
  readonly pairs: number;
  /** The adapted routes: `GET /drinks/{id}`. */
  readonly routes: readonly string[];
}

/**
 * What an edit changes for clients. `endedVersions`: the versions that it retires or removes. `newFreezes`: its freezes that may refuse
 * clients which are served now. `newAdapters`: the adapters that begin to serve clients. `quiet`: a version → `guard.quiet` of the edit, ms.
 * `changed`: the versions of which `candidate` may refuse some requests that `running` serves.
 */
export interface EditEffects {
  readonly endedVersions?: readonly string[];
  readonly newFreezes?: readonly RefusingFreeze[];
  readonly newAdapters?: readonly NewServingAdapter[];
  readonly quiet?: ((version: string) => number) | undefined;
  readonly changed?:
    | { readonly running: Snapshot; readonly candidate: Snapshot; readonly versions: readonly string[] }
    | undefined;
}

/** The adapters that begin to serve clients with the edit, or whose operations or contracts the edit changes. */
export function newServingAdapters(before: Pick<Snapshot, 'versions'>, after: Snapshot): NewServingAdapter[] {
  return after.sortedVersions.flatMap(({ name: version, adapter, contract }) => {
    const current = before.versions.get(version)?.adapter;
    const hash = adapter?.derivedFromContracts?.hash;
    if (adapter?.mode !== 'serve' || (current?.mode === 'serve' && current.derivedFromContracts?.hash === hash))
      return [];
    const fromContractDigest = after.versions.get(adapter.from)?.contract?.digest;
    const adapted = adapter.routes.filter((route) => !('gone' in route));
    const routes = adapted.map(({ method, path }) => `${method} ${path}`);
    return [{ version, contractDigest: contract?.digest, fromContractDigest, hash, pairs: adapter.pairs, routes }];
  });
}

/** The message about an adapter that would serve clients before enough comparisons have shown that its responses are equal. */
export function adapterMessages(name: string, use: VersionUsage): string[] {
  const missing = use.whyAdapterCannotServe?.(name);
  if (missing === undefined) return [];
  return [`The adapter of /${name} cannot serve clients yet: ${missing}. Compare with adapter.mode: shadow first.`];
}

function isEnded(old: AcceptedVersion, version: AcceptedVersion | undefined, now: number): boolean {
  return version === undefined || (stageOf(old, now) !== 'retired' && stageOf(version, now) === 'retired');
}

/**
 * Also true if the gateway will begin to answer 410 by itself within `guard.quiet` because of the edit: who calls now would get it then.
 * A sunset that the edit announces or postpones only has to be `guard.notice` ahead.
 */
function endsSoon(
  old: AcceptedVersion,
  version: AcceptedVersion | undefined,
  { quiet, notice }: GuardSettings,
  now: number,
): boolean {
  const isAnnounced = version?.sunset !== undefined && (old.sunset === undefined || version.sunset > old.sunset);
  const period = isAnnounced && notice > 0 ? Math.min(quiet, notice) : quiet;
  return isEnded(old, version, now) || isEnded(old, version, now + period);
}

/** Messages about a version that the edit retires or removes. */
function endMessages(old: AcceptedVersion, version: AcceptedVersion | undefined, now: number): string[] {
  if (!isEnded(old, version, now)) return [];
  const { what, wasTombstone, clientsNote } = endInWords(old, version, now);
  const messages: string[] = [];
  if (old.sunset !== undefined && old.sunset > now) {
    messages.push(`${what} before its announced sunset, ${dayText(old.sunset)}.${clientsNote}`);
  }
  // A tombstone without a sunset breaks no announced date.
  if (old.sunset === undefined && !wasTombstone) messages.push(`${what}, and no sunset was ever announced.`);
  if (version === undefined && !wasTombstone) messages.push(`${what}, and was never a tombstone (retired: true).`);
  return messages;
}

/** The words of all messages about a version that the edit ends. */
function endInWords(old: AcceptedVersion, version: AcceptedVersion | undefined, now: number) {
  const wasTombstone = stageOf(old, now) === 'retired';
  return {
    wasTombstone,
    what: `/${old.name} ${version === undefined ? 'is removed' : `is retired${whenRetired(version, now)}`}`,
    clientsNote: wasTombstone ? ' Its clients would get 404 instead of 410.' : '',
  };
}

function whenRetired(version: AcceptedVersion, now: number): string {
  const { sunset = now } = version;
  return stageOf(version, now) === 'retired' ? '' : ` ${atAndIn(sunset, now)}, at its sunset`;
}

/** The message about the calls of a version that the edit ends. `quiet`: `guard.quiet`, ms. `known`: false if calls may be missing. */
function callRefusal(
  old: AcceptedVersion,
  version: AcceptedVersion | undefined,
  quiet: number,
  use: VersionUsage,
  now: number,
): { readonly message: string; readonly known: boolean } | undefined {
  const evidence = quiet > 0 ? use.calls(old.name) : undefined;
  if (evidence === undefined || evidence.called === 'no') return undefined;
  const { what, clientsNote } = endInWords(old, version, now);
  const { quietAt } = evidence;
  const whenQuiet =
    quietAt === undefined
      ? ''
      : ` Without another call, the edit is accepted ${atAndIn(quietAt, now)}: save the file again then.`;
  if (evidence.called === 'yes') {
    const clients = use.clients?.(old.name);
    const lastCall = `was last called ${ago(evidence.lastCall ?? now, now)}${clients ? `; ${clients}` : ''}`;
    return { message: `${what}, and ${lastCall}.${clientsNote}${whenQuiet}`, known: true };
  }
  const reasons = [...evidence.missing, ...evidence.pending].map(({ text }) => text).join(' ');
  const missing = `calls in the last ${inWholeUnits(quiet)} (guard.quiet) may be missing. ${reasons}`;
  return { message: `${what}, but ${missing}${clientsNote}${whenQuiet}`, known: false };
}

/** Messages about waivers that the edit removes, ends earlier, or applies to fewer clients. */
function waiverMessages(
  { name, waivers: before }: AcceptedVersion,
  version: AcceptedVersion | undefined,
  now: number,
): string[] {
  const after = version?.waivers ?? [];
  const endOf = (waivers: AcceptedVersion['waivers'], client: string): number =>
    Math.max(0, ...waivers.filter((one) => one.client === client).map(({ until }) => until));
  return [...new Set(before.map(({ client }) => client))].flatMap((client): string[] => {
    const [oldEnd, newEnd] = [endOf(before, client), endOf(after, client)];
    if (oldEnd <= now) return [];
    const what = `The waiver of ${printableExcerpt(client)} for /${name}`;
    if (newEnd >= oldEnd)
      return uncoveredMessages(
        what,
        before.filter((one) => one.client === client && one.until > now),
        after,
      );
    if (newEnd === 0) return [`${what} is removed before its end, ${dateText(oldEnd)}.`];
    return [`${what} moves from ${dateText(oldEnd)} to ${dateText(newEnd)}, which is earlier.`];
  });
}

/** The message about clients that waivers no longer cover, because `usage.names` or `usage.identify` was edited. */
function uncoveredMessages(
  what: string,
  before: AcceptedVersion['waivers'],
  after: AcceptedVersion['waivers'],
): string[] {
  const uncovered = before.flatMap(({ client, clients = [], until }) => {
    const stillCovered = new Set(after.filter((one) => one.until >= until).flatMap((one) => one.clients ?? []));
    // `clients` also has the waived name after each kind of client. For `x-api-key:#4f2a`, it also has `user-agent:x-api-key:#4f2a`,
    // which no request has.
    const isClient = (one: string): boolean => !client.includes(':#') || !one.endsWith(`:${client}`);
    return clients.filter((one) => !stillCovered.has(one) && isClient(one));
  });
  const [first] = uncovered;
  if (first === undefined) return [];
  const others = new Set(uncovered).size - 1;
  const who = printableExcerpt(first) + (others === 0 ? '' : ` and ${plural(others, 'other client')}`);
  return [
    `${what} no longer covers ${who}: see usage.names and usage.identify. Add a waiver of ${printableExcerpt(first)}.`,
  ];
}

/** Messages about changed sunsets: of the version, and of routes that end before their version. */
function sunsetMessages(
  old: AcceptedVersion,
  version: AcceptedVersion,
  { notice }: GuardSettings,
  now: number,
): string[] {
  if (stageOf(old, now) === 'retired') return [];
  const ofVersion = sunsetMessage(`/${old.name}`, old.sunset, version.sunset, notice, now);
  // The names of path parameters may differ.
  const endsByShape = new Map([...(old.ends ?? []), ...(version.ends ?? [])].map((end) => [routeShapeOf(end), end]));
  const ofRoutes = [...endsByShape].flatMap(([shape, { method, path }]) => {
    const [before, after] = [old, version].map(({ ends }) => ends?.find((one) => routeShapeOf(one) === shape)?.sunset);
    // A route without a sunset of its own ends with its version. For a route without one before and after the edit, `ofVersion` is
    // enough.
    const versionSunset = before === undefined ? undefined : version.sunset;
    return sunsetMessage(`${method} /${old.name}${path}`, before ?? old.sunset, after ?? versionSunset, notice, now);
  });
  // A configuration that an earlier release has recorded lacks `ends`.
  return old.ends === undefined ? ofVersion : [...ofVersion, ...ofRoutes];
}

function sunsetMessage(
  what: string,
  before: number | undefined,
  after: number | undefined,
  notice: number,
  now: number,
): string[] {
  if (after === undefined || after === before) return [];
  if (before !== undefined && after < before) {
    const format = dayText(before) === dayText(after) ? rfc3339 : dayText;
    return [`The sunset of ${what} moves from ${format(before)} to ${format(after)}, which is earlier.`];
  }
  if (before !== undefined || notice === 0 || after - now >= notice) return [];
  return [`The sunset of ${what}, ${dayText(after)}, is less than guard.notice (${inWholeUnits(notice)}) ahead.`];
}

/** Faults of the successor that this edit causes. */
function successorMessages(
  old: AcceptedVersion,
  version: AcceptedVersion,
  before: AcceptedConfig,
  after: AcceptedConfig,
  now: number,
): string[] {
  const message = successorFault(version, after, now);
  return message === undefined || message === successorFault(old, before, now) ? [] : [message];
}

function successorFault(version: AcceptedVersion, snapshot: AcceptedConfig, now: number): string | undefined {
  const successor =
    version.successor === undefined ? successorOf(version, snapshot, now) : snapshot.versions.get(version.successor);
  if (successor === undefined || stageOf(version, now) === 'retired') return undefined;
  if (stageOf(successor, now) === 'retired')
    return `/${successor.name}, the successor of /${version.name}, is retired itself.`;
  const endsEarlier =
    successor.sunset !== undefined && version.sunset !== undefined && successor.sunset < version.sunset;
  return endsEarlier
    ? `/${successor.name}, the successor of /${version.name}, ends before /${version.name} does.`
    : undefined;
}
