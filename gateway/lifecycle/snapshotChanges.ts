import type { GatewaySettings, Snapshot, Version } from '../config/snapshot.ts';
import { stageOf } from './stage.ts';

/** One line for each version and each `gateway` setting that differs; empty if none does. */
export function changesBetween(before: Snapshot, after: Snapshot, now: number): string[] {
  const changes: string[] = [];
  for (const version of before.byMajor) {
    if (!after.versions.has(version.name)) changes.push(`/${version.name}: removed`);
  }
  for (const version of after.byMajor) {
    const old = before.versions.get(version.name);
    const words = old ? describeVersion(old, version, now) : [`added, ${stageOf(version, now)}`];
    if (words.length > 0) changes.push(`/${version.name}: ${words.join(', ')}`);
  }
  return [...changes, ...describeGateway(before.gateway, after.gateway)];
}

// The gateway reads these keys only when it starts.
const startOnlyKeys = ['listen', 'admin', 'workers', 'tls'] as const;

function describeGateway(before: GatewaySettings, after: GatewaySettings): string[] {
  const keys = (Object.keys(after) as (keyof GatewaySettings)[]).filter(
    (key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]),
  );
  const later = keys.filter((key) => startOnlyKeys.some((one) => one === key));
  return [
    ...(keys.length > later.length ? ['gateway: settings changed'] : []),
    ...later.map((key) => `gateway.${key}: applied at the next start`),
  ];
}

function describeVersion(before: Version, after: Version, now: number): string[] {
  const words: string[] = [];
  const [was, is] = [stageOf(before, now), stageOf(after, now)];
  if (was !== is) words.push(`${was} → ${is}`);
  words.push(...describeDate('deprecation', before.deprecation, after.deprecation));
  words.push(...describeDate('sunset', before.sunset, after.sunset));
  words.push(...describeTargets(before, after));
  if (before.prefix !== after.prefix) words.push(`prefix: ${after.prefix}`);
  if (before.successor !== after.successor)
    words.push(after.successor ? `successor /${after.successor}` : 'successor removed');
  return settingsOf(before) === settingsOf(after) ? words : [...words, 'settings changed'];
}

function describeDate(name: string, before: number | undefined, after: number | undefined): string[] {
  if (before === after) return [];
  return [after === undefined ? `${name} removed` : `${name} ${day(after)}`];
}

function describeTargets({ targets: before }: Version, { targets: after }: Version): string[] {
  const [were, are] = [before.map(({ url }) => url), after.map(({ url }) => url)];
  const added = are.filter((url) => !were.includes(url)).map((url) => `target ${url} added`);
  return [...added, ...were.filter((url) => !are.includes(url)).map((url) => `target ${url} removed`)];
}

/** The settings of a version that have no description of their own. */
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

function day(instant: number): string {
  return new Date(instant)
    .toISOString()
    .replace(/T00:00:00\.000Z$/, '')
    .replace('.000Z', 'Z');
}
