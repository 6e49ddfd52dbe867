import type { ProxyDefinition } from '../proxies/definition.ts';
import { type Child, startServer, temporaryFolder } from './children.ts';
import { freePort } from './ports.ts';
import { progress } from './progress.ts';

/** A proxy that runs and has passed the check of its response. */
export interface RunningProxy {
  readonly definition: ProxyDefinition;
  readonly port: number;
  readonly child: Child;
}

/** A proxy that is not measured, and why. */
export interface SkippedProxy {
  readonly definition: ProxyDefinition;
  readonly reason: string;
}

export interface ProxySet {
  readonly running: readonly RunningProxy[];
  readonly skipped: readonly SkippedProxy[];
  stop(): Promise<void>;
}

/** The proxies that match `--only`. */
export function selectProxies(
  proxies: readonly ProxyDefinition[],
  only: readonly string[],
): readonly ProxyDefinition[] {
  return proxies.filter(({ name }) => only.length === 0 || only.some((part) => name.toLowerCase().includes(part)));
}

/**
 * Starts all proxies, since an idle one uses no CPU time. Skips a proxy for which `check` returns a reason.
 * @throws if a required proxy is skipped.
 */
export async function startProxies(
  definitions: readonly ProxyDefinition[],
  backendPort: number,
  check: (port: number) => Promise<string | undefined>,
): Promise<ProxySet> {
  const running: RunningProxy[] = [];
  const skipped: SkippedProxy[] = [];
  for (const definition of definitions) {
    const result = definition.version === undefined ? 'not installed' : await tryStart(definition, backendPort, check);
    if (typeof result !== 'string') {
      running.push(result);
      continue;
    }
    if (definition.required) throw new Error(`${definition.name}: ${result}`);
    skipped.push({ definition, reason: result });
    progress(`${definition.name} is skipped: ${result}`);
  }
  const stop = async () => {
    await Promise.all(running.map(({ child }) => child.stop()));
  };
  return { running, skipped, stop };
}

/** Returns the reason if the proxy must be skipped. */
async function tryStart(
  definition: ProxyDefinition,
  backendPort: number,
  check: (port: number) => Promise<string | undefined>,
): Promise<RunningProxy | string> {
  const port = await freePort();
  try {
    const command = definition.command({ port, backendPort, folder: temporaryFolder() });
    const child = await startServer(command, port, 'proxy');
    const reason = await check(port).catch(String);
    if (reason === undefined) return { definition, port, child };
    await child.stop();
    return `returns a wrong response (${reason})`;
  } catch (error) {
    return errorLine(String(error));
  }
}

/** The line that names the error, among everything that a program printed before it ended. */
function errorLine(output: string): string {
  const lines = output.split('\n');
  return lines.find((line, index) => index > 0 && /error|emerg|alert/i.test(line)) ?? lines[0] ?? '';
}
