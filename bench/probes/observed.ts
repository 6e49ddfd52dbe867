/** node observed.ts PORT BACKEND_PORT WHAT: the gateway's own parts, recorded by those that WHAT names. */

import { keepYoungGenerationSmall } from '../../gateway/cli/heap.ts';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { AccessLog } from '../../gateway/observability/accessLog.ts';
import type { Recorder } from '../../gateway/observability/facts.ts';
import { Metrics } from '../../gateway/observability/metrics.ts';
import { createFrontDoor } from '../../gateway/pipeline/frontDoor.ts';
import { listen } from '../../gateway/pipeline/listener.ts';
import { assemble } from '../../gateway/serving/assembly.ts';
import { dates } from '../support/work.ts';

const [port = '', backendPort, what = ''] = process.argv.slice(2);
const upstream = `http://127.0.0.1:${backendPort}`;

keepYoungGenerationSmall();
const snapshot = snapshotFrom({
  routes: { '/v1': { upstream, ...dates }, '/v2': upstream },
  gateway: { listen: `127.0.0.1:${port}` },
  log: { access: '/dev/null' },
});
const { surroundings } = assemble(snapshot);
const recorders: Recorder[] = [];
if (what.includes('metrics')) {
  const metrics = new Metrics();
  recorders.push(metrics);
  // Once, so that the process is being watched as it is between two scrapes.
  await metrics.json();
}
if (what.includes('access log')) recorders.push(new AccessLog(snapshot.log, (line) => process.stderr.write(line)));
if (recorders.length > 0) {
  surroundings.recorder = {
    record: (facts) => {
      for (const one of recorders) one.record(facts);
    },
  };
}
await listen(createFrontDoor(snapshot.gateway, surroundings), snapshot.gateway.listen);
