import { adapter } from './adapter.ts';
import { bodies } from './bodies.ts';
import { idleConnections } from './connections.ts';
import { exportOverOtlp } from './export.ts';
import { features, restrictions } from './features.ts';
import { handshakes, http2 } from './h2load.ts';
import { instructions } from './instructions.ts';
import { latency } from './latency.ts';
import { accessLog, fastLane, post, smallJson, tls, varied } from './requests.ts';
import { routes } from './routes.ts';
import { scavenges } from './scavenges.ts';
import type { Scenario } from './scenario.ts';
import { shadow } from './shadow.ts';
import { soakRss } from './soak-rss.ts';
import { start } from './start.ts';
import { syscalls } from './syscalls.ts';

/** In the order of the results. */
export const scenarios: readonly Scenario[] = [
  smallJson,
  varied,
  accessLog,
  post,
  tls,
  handshakes,
  http2,
  bodies,
  latency,
  idleConnections,
  start,
  routes,
  syscalls,
  scavenges,
  instructions,
  fastLane,
  features,
  exportOverOtlp,
  restrictions,
  shadow,
  adapter,
  soakRss,
];
