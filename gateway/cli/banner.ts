import type { HostPort, Snapshot, Version } from '../config/snapshot.ts';
import { stageOf } from '../lifecycle/stage.ts';
import { successorOf } from '../lifecycle/successor.ts';

/** What an operator wants to see of a gateway that has just started: where it listens, and every version. */
export function banner(snapshot: Snapshot, listen: HostPort, admin: HostPort, now: number): string {
  const scheme = snapshot.gateway.tls ? 'https' : 'http';
  const base = `${scheme}://${authority(listen)}${snapshot.gateway.basePath}`;
  const rows = snapshot.byMajor.map((version) => row(version, snapshot, now));
  return [
    `version-gateway listens on ${base === '' ? '/' : base}`,
    ...rows,
    '',
    'Try',
    ...snapshot.byMajor.map((version) => `  curl -i ${base}/${version.name}${example(version)}`),
    `  curl    ${base}${snapshot.gateway.basePath === '' ? '/' : ''}              # every version, in a browser too`,
    `  curl    http://${authority(admin)}/readyz`,
    '',
  ].join('\n');
}

/** `127.0.0.1:8080`, `[::1]:8080`. */
export function authority({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function row(version: Version, snapshot: Snapshot, now: number): string {
  const stage = stageOf(version, now);
  const successor = stage === 'active' ? undefined : successorOf(version, snapshot, now);
  const sunset = version.sunset === undefined ? '' : `, sunset ${new Date(version.sunset).toISOString().slice(0, 10)}`;
  const next = successor === undefined ? '' : `, successor /${successor.name}`;
  const targets = version.targets.map((target) => target.url).join(', ');
  return `  /${version.name.padEnd(4)} ${stage}${sunset}${next}${targets === '' ? '' : `  →  ${targets}`}`;
}

/** The first path of the contract that needs no parameter, so that the line can be pasted as it is. */
function example({ contract }: Version): string {
  return contract?.paths.entries().find(([template]) => !template.includes('{'))?.[0] ?? '/';
}
