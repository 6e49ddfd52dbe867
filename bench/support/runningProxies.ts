import { join } from 'node:path';
import type { ProxyDefinition, Setup } from '../proxies/definition.ts';
import { type Child, startServer, temporaryFolder } from './children.ts';
import { freePort } from './ports.ts';
import { progress } from './progress.ts';

/** A proxy that runs and has passed the check of its response. */
export interface RunningProxy {
  readonly name: string;
  readonly required: boolean | undefined;
  readonly port: number;
  readonly child: Child;
}

export interface RequestedSetup extends Pick<Setup, 'certificate'> {
  /** Each proxy writes an access log in its own folder. */
  readonly accessLog?: boolean;
}

export interface ProxySet {
  readonly running: readonly RunningProxy[];
  /** The proxies that are not measured, and why. */
  readonly notes: readonly string[];
  stop(): Promise<void>;
}

/** The proxies that match `--only`. */
export function selectProxies(
  proxies: readonly ProxyDefinition[],
  only: readonly string[],
): readonly ProxyDefinition[] {
  return proxies.filter(({ name }) => only.length === 0 || only.some((part) => name.toLowerCase().includes(part)));
}

/** Separates the proxies that are not installed, for scenarios that start proxies themselves. */
export function onlyInstalled(proxies: readonly ProxyDefinition[]): {
  readonly installed: readonly ProxyDefinition[];
  readonly notes: readonly string[];
} {
  const missing = proxies.filter(({ version }) => version === undefined);
  return {
    installed: proxies.filter((proxy) => !missing.includes(proxy)),
    notes: missing.map(({ name }) => `${name} is not measured: not installed.`),
  };
}

/**
 * Starts all proxies. They can run at the same time, because an idle proxy uses no CPU time. Skips a proxy for which `check`
 * returns a reason.
 * @throws if a required proxy is skipped.
 */
export async function startProxies(
  definitions: readonly ProxyDefinition[],
  backendPort: number,
  check: (port: number) => Promise<string | undefined>,
  setup: RequestedSetup = {},
): Promise<ProxySet> {
  const running: RunningProxy[] = [];
  const notes: string[] = [];
  for (const definition of definitions) {
    const result =
      definition.version === undefined ? 'not installed' : await tryStart(definition, backendPort, check, setup);
    if (typeof result !== 'string') {
      running.push(result);
      continue;
    }
    if (definition.required) throw new Error(`${definition.name}: ${result}`);
    notes.push(`${definition.name} is not measured: ${result}.`);
    progress(notes.at(-1) ?? '');
  }
  const stop = async () => {
    await Promise.all(running.map(({ child }) => child.stop()));
  };
  return { running, notes, stop };
}

/** Returns the reason if the proxy must be skipped. */
async function tryStart(
  definition: ProxyDefinition,
  backendPort: number,
  check: (port: number) => Promise<string | undefined>,
  { certificate, accessLog }: RequestedSetup,
): Promise<RunningProxy | string> {
  const port = await freePort();
  try {
    const folder = temporaryFolder();
    const setup = { ...(certificate && { certificate }), ...(accessLog && { accessLog: join(folder, 'access.log') }) };
    const command = definition.command({ port, backendPort, folder, ...setup });
    const child = await startServer(command, port, 'onProxyCore');
    const reason = await check(port).catch(String);
    if (reason === undefined) return { name: definition.name, required: definition.required, port, child };
    await child.stop();
    return `returns a wrong response (${reason})`;
  } catch (error) {
    return errorLine(String(error));
  }
}

/** The line that names the error, among everything that a program printed before it ended. */
function errorLine(output: string): string {
  const lines = output.split('\n');
  // The first line begins with `Error:`, whatever follows.
  return lines.find((line, index) => index > 0 && /error|emerg|alert/i.test(line)) ?? lines[0] ?? '';
}
