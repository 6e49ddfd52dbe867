import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isInstalled, outputOf } from './programs.ts';

/** The network settings of the machine that an engine changes. */
interface NetworkState {
  /** The boot ID. The record of an earlier boot is not valid. */
  readonly boot: string;
  readonly rules: Record<string, string>;
  readonly settings: Record<string, string>;
  readonly bridges: readonly string[];
}

const families = ['iptables', 'ip6tables'];
const settings = [
  '/proc/sys/net/ipv4/ip_forward',
  '/proc/sys/net/bridge/bridge-nf-call-iptables',
  '/proc/sys/net/bridge/bridge-nf-call-ip6tables',
];

/** Saves the settings before the engine starts. If a run was killed, keeps its record from before its engine. */
export async function recordNetwork(file: string): Promise<void> {
  if (existsSync(file) && read(file).boot === boot()) return;
  const rules: Record<string, string> = {};
  for (const family of families.filter((family) => isInstalled(`${family}-save`)))
    rules[family] = await outputOf(`${family}-save`, []);
  const values = settings.filter((path) => existsSync(path)).map((path) => [path, readFileSync(path, 'utf8').trim()]);
  const state: NetworkState = { boot: boot(), rules, settings: Object.fromEntries(values), bridges: bridges() };
  writeFileSync(file, JSON.stringify(state));
}

/** Restores the settings after the engine has ended. */
export async function restoreNetwork(file: string): Promise<void> {
  if (!existsSync(file)) return;
  const state = read(file);
  for (const bridge of bridges().filter((name) => !state.bridges.includes(name)))
    await outputOf('ip', ['link', 'delete', bridge]);
  for (const [family, saved] of Object.entries(state.rules)) {
    const input = saved + emptyNewTables(await outputOf(`${family}-save`, []), saved);
    const { status, stderr } = spawnSync(`${family}-restore`, { input, encoding: 'utf8', timeout: 30_000 });
    if (status !== 0) throw new Error(`${family}-restore: ${stderr}`);
  }
  for (const [path, value] of Object.entries(state.settings)) writeFileSync(path, value);
  rmSync(file);
}

/** The tables that `saved` does not contain, with their built-in chains and no rules. */
function emptyNewTables(now: string, saved: string): string {
  return [...now.matchAll(/^\*(\w+)\n(.*?)^COMMIT$/gms)]
    .filter(([, table]) => !saved.includes(`*${table}\n`))
    .map(([, table, body = '']) => {
      const chains = [...body.matchAll(/^:(\S+) (?:ACCEPT|DROP) /gm)].map(([, chain]) => `:${chain} ACCEPT [0:0]\n`);
      return `*${table}\n${chains.join('')}COMMIT\n`;
    })
    .join('');
}

function read(file: string): NetworkState {
  return JSON.parse(readFileSync(file, 'utf8')) as NetworkState;
}

function boot(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

/** The network bridges of container engines. */
function bridges(): string[] {
  return readdirSync('/sys/class/net').filter((name) => /^(docker0|docker_gwbridge|br-[0-9a-f]{12})$/.test(name));
}
