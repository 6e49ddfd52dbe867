/**
 * node exportVariants.ts PORT BACKEND_PORT FOLDER COLLECTOR_PORT: one gateway that changes every 0.6 s what it exports over
 * OTLP. Writes the CPU time and the requests of each variant to FOLDER/figures.json, once a second. SIGUSR2 resets both.
 */

import { snapshotFrom } from '../../gateway/config/load.ts';
import { OtlpExporter } from '../../gateway/operate/otlp/exporter.ts';
import { keepYoungGenerationSmall } from '../../gateway/process/cli/start/process.ts';
import { Telemetry } from '../../gateway/process/runtime/telemetry.ts';
import { systemClock } from '../../gateway/shared/clock.ts';
import { ClientIdentification } from '../../gateway/usage/counting/identification.ts';
import { alternate, type Variant } from '../support/alternation.ts';
import { dates } from '../support/workload.ts';

const [port = '', backendPort, folder = '', collectorPort] = process.argv.slice(2);
const upstream = `http://127.0.0.1:${backendPort}`;
const otlp = `http://127.0.0.1:${collectorPort}`;

keepYoungGenerationSmall();
const notice = (line: string): void => void process.stderr.write(`${line}\n`);

// No client is counted under a tag.
const noSalt = '';

/** Without a ledger and an access log, so that the export is a larger share of the cost. */
async function variant(name: string, telemetry?: object): Promise<Variant> {
  const snapshot = snapshotFrom({
    routes: { '/v1': { upstream, ...dates }, '/v2': upstream },
    gateway: { listen: `127.0.0.1:${port}` },
    ...(telemetry && { telemetry }),
  });
  const exporter = new OtlpExporter(notice);
  await exporter.configure(snapshot);
  const options = { clock: systemClock, notice, logs: false, otlp: exporter.take.bind(exporter) };
  const recording = new Telemetry(
    { current: snapshot, identification: new ClientIdentification(snapshot.usage.identify, noSalt) },
    options,
  );
  await recording.applyCurrent();
  return { name, snapshot, recorder: recording.recorder };
}

await alternate(
  [
    await variant('nothing'),
    await variant('1 % of the traces', { otlp, sample: '1%' }),
    await variant('1 % of the traces, and metrics', { otlp, sample: '1%', metrics: true }),
    await variant('all traces, and metrics', { otlp, sample: '100%', metrics: true }),
  ],
  folder,
);
