import { bodies } from './bodies.ts';
import { exportOverOtlp } from './export.ts';
import { fastLane } from './fastLane.ts';
import { features } from './features.ts';
import { http2 } from './http2.ts';
import { latency } from './latency.ts';
import { routes } from './routes.ts';
import { scavenges } from './scavenges.ts';
import type { Scenario } from './scenario.ts';
import { smallJson } from './small-json.ts';
import { soakRss } from './soak-rss.ts';
import { start } from './start.ts';
import { wireClient } from './wire-client.ts';

export const scenarios: readonly Scenario[] = [
  smallJson,
  start,
  latency,
  bodies,
  routes,
  wireClient,
  features,
  fastLane,
  http2,
  exportOverOtlp,
  scavenges,
  soakRss,
];
