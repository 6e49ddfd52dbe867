import type { GatewaySettings, HostPort, Snapshot, Version } from '../../../config/snapshot.ts';
import { dayText } from '../../../shared/instant.ts';
import { messageOf } from '../../../shared/text.ts';
import { stageOf, successorOf } from '../../../versions/lifecycle/stage.ts';

/** What `start` prints when the gateway listens: addresses, versions, and commands to try. */
export function banner(snapshot: Snapshot, listen: HostPort, admin: HostPort, now: number): string {
  const scheme = snapshot.gateway.tls ? 'https' : 'http';
  // An empty host listens on every address, but a URL needs a host.
  const [address, remark] =
    listen.host === '' ? [reachableAddress(listen), ` (${wildcardWords[listen.host]})`] : [listen, ''];
  const base = `${scheme}://${authority(address)}${snapshot.gateway.basePath}`;
  const width = Math.max(4, ...snapshot.sortedVersions.map(({ name }) => name.length));
  const rows = snapshot.sortedVersions.map((version) => versionRow(version, snapshot, width, now));
  return [
    `version-gateway listens on ${base}${remark}`,
    ...rows,
    '',
    dashboardLine(snapshot, admin),
    '',
    'Try',
    ...snapshot.sortedVersions.map((version) => `  curl -i ${base}/${version.name}${examplePath(version)}`),
    `  curl    ${base}${snapshot.gateway.basePath === '' ? '/' : ''}              # lists the versions, also in a browser`,
    `  curl    http://${authority(reachableAddress(admin))}/readyz`,
    '',
  ].join('\n');
}

/** `127.0.0.1:8080`, `[::1]:8080`. */
function authority({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function dashboardLine({ gateway }: Snapshot, admin: HostPort): string {
  const hasToken = gateway.adminToken !== undefined;
  const remarks = [wildcardWords[admin.host], hasToken && 'log in with gateway.admin_token'].filter(Boolean);
  const url = `http://${authority(reachableAddress(admin))}/${hasToken ? 'login' : ''}`;
  return `Dashboard: ${url}${remarks.length === 0 ? '' : ` (${remarks.join('; ')})`}`;
}

const wildcardWords: Readonly<Record<string, string>> = {
  '': 'on every address of this machine',
  '0.0.0.0': 'on every IPv4 address of this machine',
  '::': 'on every address of this machine',
};

/** An address to connect to: a wildcard becomes its loopback address. */
function reachableAddress({ host, port }: HostPort): HostPort {
  if (host === '' || host === '0.0.0.0') return { host: '127.0.0.1', port };
  return { host: host === '::' ? '::1' : host, port };
}

function versionRow(version: Version, snapshot: Snapshot, width: number, now: number): string {
  const stage = stageOf(version, now);
  const successor = stage === 'active' ? undefined : successorOf(version, snapshot, now);
  const sunset = version.sunset === undefined ? '' : `, sunset ${dayText(version.sunset)}`;
  const next = successor === undefined ? '' : `, successor /${successor.name}`;
  const { adapter } = version;
  const urls = version.targets.map((target) => target.url).join(', ');
  const targets = adapter?.mode === 'serve' ? `adapter from /${adapter.from}` : urls;
  return `  /${version.name.padEnd(width)} ${stage}${sunset}${next}${targets === '' ? '' : `  →  ${targets}`}`;
}

/** The first path in the contract that has no parameter, so that the printed command works unchanged. */
function examplePath({ contract }: Version): string {
  return contract?.paths.entries().find(([template]) => !template.includes('{'))?.[0] ?? '/';
}

/** Why a listener could not be opened, which setting has its address, and what to do. */
export function listenFailure(error: unknown, { listen, admin }: Pick<GatewaySettings, 'listen' | 'admin'>): string {
  const { code, address = '', port = 0 } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  const isAdmin = port === admin.port && port !== listen.port;
  const setting = isAdmin ? 'gateway.admin (or --admin)' : 'gateway.listen (or --listen)';
  const place = authority({ host: address, port });
  if (code === 'EADDRINUSE')
    return `${place} is in use by another process.  Stop that process, or set ${setting} to another port.`;
  if (code === 'EACCES') return `Listening on ${place} is not permitted.  Set ${setting} to a port above 1023.`;
  if (code === 'EADDRNOTAVAIL')
    return `${address} is not an address of this machine.  Set ${setting} to an address of this machine, or to 0.0.0.0.`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `The host of ${setting} cannot be resolved.  Set it to an address of this machine.`;
  return messageOf(error);
}
