import { onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { type RunningGateway, startGateway } from '../../../gateway/process/runtime/gateway.ts';

export interface ExportingGateway {
  readonly running: RunningGateway;
  readonly port: number;
  /** Lines for the operator. */
  readonly notices: readonly string[];
  /** Serves these settings of `telemetry:` from now on. */
  reload(telemetry: object | undefined): Promise<void>;
  /** The value of a metric without labels. */
  metric(name: string): Promise<number>;
  /** Resolves when everything is exported or given up. */
  close(): Promise<void>;
}

/** A gateway that exports to a collector; closed at the end of the test. */
export async function startExporting(
  routes: Readonly<Record<string, unknown>>,
  telemetry: object | undefined,
  more: Readonly<Record<string, unknown>> = {},
  env: NodeJS.ProcessEnv = {},
): Promise<ExportingGateway> {
  const gateway = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s' };
  let document: Record<string, unknown> = { routes, gateway, ...more, ...(telemetry && { telemetry }) };
  const read = () => snapshotFrom(document, '.', env);
  const notices: string[] = [];
  const running = await startGateway(read(), { notice: (line) => void notices.push(line), load: read });
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= running.close();
    return closed;
  };
  onTestFinished(close);
  return {
    running,
    port: running.port,
    notices,
    reload: async (next) => {
      document = { ...document, telemetry: next };
      await running.reload('signal');
    },
    metric: async (name) => {
      const text = await (await fetch(`http://127.0.0.1:${running.adminPort}/metrics`)).text();
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    },
    close,
  };
}
