import { expect, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { ShadowStatus } from '../../../gateway/contracts/shadow/sampling/comparisonStatus.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { ThreadedLedger } from '../../../gateway/usage/ledger/threadedLedger.ts';
import { type Answer, answer, type Backend, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { fastLane } from '../../support/gateway.ts';

export const tomorrow = new Date(Date.now() + 86_400_000).toISOString();

/** Every request is sampled, and no request is sent a second time to the same version. */
export const everything = { to: '/v2', sample: '100%', rate: '1000/s', control: '0%', until: tomorrow };

export interface ShadowedOptions {
  /** More settings of the shadow; they override `everything`. */
  readonly shadow?: object | undefined;
  /** More settings of `/v1`. */
  readonly v1?: object;
  readonly v2?: object;
  readonly v1Answer?: Answer;
  readonly v2Answer?: Answer;
  readonly [section: string]: unknown;
}

const ok = answer(200, '{"a":1}', 'Content-Type: application/json');

/** A gateway in this process whose `/v1` has a shadow to `/v2`. */
export async function startShadowed(options: ShadowedOptions = {}) {
  const { shadow, v1: routeOfV1, v2: routeOfV2, v1Answer = ok, v2Answer = ok, ...sections } = options;
  const [v1, v2]: Backend[] = await Promise.all([startBackend(v1Answer), startBackend(v2Answer)]);
  if (!v1 || !v2) throw new Error('no backend');
  const snapshotWith = (settings: object | undefined, changed: object = {}) =>
    snapshotFrom({
      gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s', ...fastLane },
      routes: {
        '/v1': { upstream: v1.url, ...(settings && { shadow: { ...everything, ...settings } }), ...routeOfV1 },
        '/v2': { upstream: v2.url, ...routeOfV2 },
      },
      ...sections,
      ...changed,
    });
  let current = snapshotWith(shadow ?? {});
  const notices: string[] = [];
  // A ledger is kept only by tests that name its file.
  const ledger = 'usage' in sections ? await ThreadedLedger.open(current.usage) : undefined;
  const running = await startGateway(current, {
    notice: (line) => notices.push(line),
    load: () => current,
    ...(ledger && { ledger }),
  });
  const close = async (): Promise<void> => {
    await running.close();
    await ledger?.close();
  };
  onTestFinished(close);
  const admin = `http://127.0.0.1:${running.adminPort}`;
  return {
    ...running,
    close,
    admin,
    v1,
    v2,
    notices,
    /** The shadow of `/v1`, as the admin API shows it. */
    shadow: async (): Promise<ShadowStatus | undefined> => {
      const { shadows } = (await (await fetch(`${admin}/api/shadow`)).json()) as { shadows: ShadowStatus[] };
      return shadows[0];
    },
    /** Replaces the shadow; undefined: none. `changed`: other sections. */
    edit: async (settings: object | undefined, changed?: object): Promise<void> => {
      current = snapshotWith(settings, changed);
      await running.reload('admin');
    },
  };
}

/** Waits until samples were dropped for these reasons. */
export async function droppedFor(
  gateway: { shadow(): Promise<ShadowStatus | undefined> },
  reasons: Readonly<Record<string, number>>,
): Promise<void> {
  await eventually(async () => expect((await gateway.shadow())?.dropped).toEqual(reasons));
}

/** How many copies were compared. */
export async function compared(
  gateway: { shadow(): Promise<ShadowStatus | undefined> },
  kind = 'shadow',
): Promise<number> {
  return (await gateway.shadow())?.copies[kind]?.['compared'] ?? 0;
}
