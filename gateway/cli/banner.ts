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
    dashboardLine(snapshot, admin),
    '',
    'Try',
    ...snapshot.byMajor.map((version) => `  curl -i ${base}/${version.name}${example(version)}`),
    `  curl    ${base}${snapshot.gateway.basePath === '' ? '/' : ''}              # every version, in a browser too`,
    `  curl    http://${authority(reachable(admin))}/readyz`,
    '',
  ].join('\n');
}

/** `127.0.0.1:8080`, `[::1]:8080`. */
export function authority({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function dashboardLine({ gateway }: Snapshot, admin: HostPort): string {
  const hasToken = gateway.adminToken !== undefined;
  const remarks = [wildcards[admin.host], hasToken && 'log in with gateway.admin_token'].filter(Boolean);
  const url = `http://${authority(reachable(admin))}/${hasToken ? 'login' : ''}`;
  return `Dashboard: ${url}${remarks.length === 0 ? '' : ` (${remarks.join('; ')})`}`;
}

const wildcards: Readonly<Record<string, string>> = {
  '0.0.0.0': 'on every IPv4 address of this machine',
  '::': 'on every address of this machine',
};

/** An address that can be called: a wildcard is replaced by its loopback address. */
function reachable({ host, port }: HostPort): HostPort {
  if (host === '0.0.0.0') return { host: '127.0.0.1', port };
  return { host: host === '::' ? '::1' : host, port };
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
