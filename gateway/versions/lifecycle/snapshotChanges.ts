import { rootBase } from '../../config/api.ts';
import type { GatewaySettings, Snapshot, Version } from '../../config/snapshot.ts';
import { dateText } from '../../shared/instant.ts';
import { stageOf } from './stage.ts';

/** Lines about changed versions, about changed settings of `gateway` and `brownout`, and about each setting that needs a restart. */
export function changesBetween(before: Snapshot, after: Snapshot, now: number): string[] {
  const changes: string[] = [];
  for (const version of before.sortedVersions) {
    if (!after.versions.has(version.name)) changes.push(`/${version.name}: removed`);
  }
  for (const version of after.sortedVersions) {
    const old = before.versions.get(version.name);
    const words = old ? describeVersion(old, version, now) : [`added, ${stageOf(version, now)}`];
    if (words.length > 0) changes.push(`/${version.name}: ${words.join(', ')}`);
  }
  return [...changes, ...describeSettings(before, after)];
}

// The gateway reads these settings only when it starts.
const startOnlySettings: readonly (readonly [key: string, valueIn: (snapshot: Snapshot) => unknown])[] = [
  ['gateway.listen', ({ gateway }) => gateway.listen],
  ['gateway.admin', ({ gateway }) => gateway.admin],
  ['gateway.workers', ({ gateway }) => gateway.workers],
  ['gateway.fast_lane', ({ gateway }) => gateway.fastLane],
  ['gateway.http2', ({ gateway }) => gateway.http2],
  ['gateway.h2c', ({ gateway }) => gateway.h2c],
  ['gateway.tls', ({ gateway: { tls } }) => tls && [tls.cert, tls.key]],
  ['usage.store', ({ usage }) => usage.store],
  ['usage.tag_key', ({ usage }) => usage.tagKey],
  ['fleet', ({ fleet }) => fleet],
];

function describeSettings(before: Snapshot, after: Snapshot): string[] {
  const notApplied = startOnlySettings.filter(([, valueIn]) => differ(valueIn(before), valueIn(after)));
  // The parser of node:http keeps the maximum that was computed from both limits at the start. The gateway itself checks a limit that
  // was lowered.
  const raisedLimits = (['head', 'url'] as const).filter(
    (name) => after.gateway.limits[name] > before.gateway.limits[name],
  );
  return [
    ...(differ(reloadableIn(before.gateway), reloadableIn(after.gateway)) ? ['gateway: settings changed'] : []),
    ...changedBrownouts(before, after),
    ...notApplied.map(([key]) => `${key}: applied at the next start`),
    ...raisedLimits.map((name) => `gateway.limits.${name}: a higher limit is applied in full at the next start`),
  ];
}

/** The settings of `brownout` decide which clients a brownout refuses, and with which status. */
function changedBrownouts(before: Snapshot, after: Snapshot): string[] {
  return [...after.apis.values()].flatMap(({ base, brownout }) => {
    const old = before.apis.get(base)?.brownout;
    if (old === undefined || !differ(old, brownout)) return [];
    return [`${base === rootBase ? '' : `apis.${base}.`}brownout: settings changed`];
  });
}

/** The `gateway` settings without those of `startOnlySettings`. */
function reloadableIn({ listen, admin, workers, fastLane, http2, h2c, tls, ...rest }: GatewaySettings): object {
  return { ...rest, hsts: tls?.hsts === true };
}

function differ(before: unknown, after: unknown): boolean {
  return JSON.stringify(before) !== JSON.stringify(after);
}

function describeVersion(before: Version, after: Version, now: number): string[] {
  const words: string[] = [];
  const [oldStage, newStage] = [stageOf(before, now), stageOf(after, now)];
  if (oldStage !== newStage) words.push(`${oldStage} → ${newStage}`);
  words.push(...describeDate('deprecation', before.deprecation, after.deprecation));
  words.push(...describeDate('sunset', before.sunset, after.sunset));
  if (before.afterSunset !== after.afterSunset) words.push(`after_sunset: ${after.afterSunset}`);
  words.push(...describeTargets(before, after));
  const [from, to] = [before, after].map(({ adapter }) => (adapter?.mode === 'serve' ? adapter.from : undefined));
  if (from !== to) words.push(to === undefined ? 'served by its own backend' : `served from /${to} by an adapter`);
  if (before.prefix !== after.prefix) words.push(`prefix: ${after.prefix}`);
  if (before.successor !== after.successor)
    words.push(after.successor ? `successor /${after.successor}` : 'successor removed');
  return settingsOf(before) === settingsOf(after) ? words : [...words, 'settings changed'];
}

function describeDate(name: string, before: number | undefined, after: number | undefined): string[] {
  if (before === after) return [];
  return [after === undefined ? `${name} removed` : `${name} ${dateText(after)}`];
}

function describeTargets({ targets: before }: Version, { targets: after }: Version): string[] {
  const [oldUrls, newUrls] = [before.map(({ url }) => url), after.map(({ url }) => url)];
  const added = newUrls.filter((url) => !oldUrls.includes(url)).map((url) => `target ${url} added`);
  return [...added, ...oldUrls.filter((url) => !newUrls.includes(url)).map((url) => `target ${url} removed`)];
}

/** The settings of a version that `describeVersion` does not describe completely: of the adapter, it describes only `from`. */
function settingsOf(version: Version): string {
  const { moved, contract, deprecation, sunset, retired, afterSunset, prefix, successor, targets, ...rest } = version;
  return JSON.stringify([
    rest,
    targets.map(({ weight }) => weight),
    moved.entries(),
    contract?.file,
    contract?.publish,
    contract?.digest,
  ]);
}
