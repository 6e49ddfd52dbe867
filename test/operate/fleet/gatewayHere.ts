import { join } from 'node:path';
import { expect, onTestFinished, type TestContext } from 'vitest';
import { Fleet } from '../../../gateway/operate/fleet/fleet.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { ledgerSettingsOf } from '../../../gateway/process/runtime/ledgerMaintenance.ts';
import { ReloadOnEdits, RoutesFile } from '../../../gateway/process/runtime/routesFile.ts';
import { claimLedger } from '../../../gateway/usage/ledger/file.ts';
import { ThreadedLedger } from '../../../gateway/usage/ledger/threadedLedger.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { eventually } from '../../support/eventually.ts';
import { type FleetGatewayOptions, type ServingGateway, writeMountedRoutes } from './fleetGateway.ts';

export interface GatewayHere extends ServingGateway {
  /** Waits until a line with this pattern is printed. */
  printed(pattern: RegExp): Promise<void>;
  /** Stops as at SIGTERM. */
  stop(): Promise<void>;
}

/**
 * Starts a gateway of a fleet in this process, which has loaded its modules already. Its threads, its listeners and its ledger are its
 * own. It is stopped after the test, or at the `end` of several tests. A gateway that dies, hangs, gets a signal, has workers or a clock
 * of its own needs a process. So does a test of what the command `start` adds: the record of the accepted configuration, and its messages.
 */
export async function startGatewayHere(
  options: Omit<FleetGatewayOptions, 'clockOffset' | 'clockFile'>,
  end: Pick<TestContext, 'onTestFinished'> = { onTestFinished },
): Promise<GatewayHere> {
  const folder = options.folder ?? temporaryFolder();
  writeMountedRoutes(folder, options);
  let output = '';
  const print = (text: string): void => {
    output += text;
  };
  const notice = (line: string): void => print(`${line}\n`);
  const config = join(folder, 'routes.yaml');
  const io = { stdout: { write: print }, stderr: { write: print }, env: process.env, cwd: folder };
  const file = new RoutesFile({ config }, io);
  const snapshot = await file.read();
  if (snapshot?.fleet === undefined) throw new Error(`no snapshot of a gateway of a fleet:\n${output}`);
  // What was started is stopped in the opposite order, also after a failure.
  const parts = new AsyncDisposableStack();
  const stop = () => parts.disposeAsync();
  end.onTestFinished(stop);
  parts.defer(() => file.close());
  const claim = claimLedger(snapshot.usage.store);
  if (claim === undefined) throw new Error('another gateway writes the ledger');
  parts.defer(() => claim.release());
  const ledger = await ThreadedLedger.open(ledgerSettingsOf(snapshot), notice);
  parts.defer(() => ledger.close());
  const fleet = await Fleet.start(snapshot.fleet, { ledger, notice });
  parts.defer(() => fleet.stop(2_000));
  const edits = new ReloadOnEdits(file, io);
  const running = await startGateway(snapshot, {
    load: (content) => file.load(content),
    loadPreview: (text) => file.loadPreview(text),
    notice,
    ledger,
    onAccepted: (next) => edits.watchFilesOf(next),
    fleet,
    file: () => ({ path: config, digest: file.lastReadDigest ?? '' }),
  });
  parts.defer(() => running.close());
  parts.defer(async () => void (await running.drain(1_000)));
  parts.defer(() => edits.close());
  edits.begin(running, snapshot);
  return {
    port: running.port,
    admin: `127.0.0.1:${running.adminPort}`,
    folder,
    printed: (pattern) => eventually(() => expect(output).toMatch(pattern)),
    stop,
  };
}
