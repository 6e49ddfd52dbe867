import { expect, it } from 'vitest';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { overviewOf } from '../../gateway/discovery/overview.ts';
import { axisOf, timeline } from '../../gateway/discovery/page.ts';

const now = Date.parse('2026-01-01T00:00:00Z');
const upstream = 'http://127.0.0.1:3001';

// Dates lie between 2024 (at 15 %) and 2028 (at 85 %): a year is 17.5 %, and today is at 50 %.
const span = { upstream, deprecation: '2024-01-01', sunset: '2028-01-01' };

it.each([
  ['no dates: in service to the end', { upstream }, ['in-service 0–100']],
  ['a deprecation: two parts', { upstream, deprecation: '2026-01-01' }, ['in-service 0–50', 'leaving 50–100']],
  ['in service after its sunset', span, ['in-service 0–15', 'leaving 15–85', 'overdue 85–100']],
  ['gone at its sunset', { ...span, after_sunset: 'gone' }, ['in-service 0–15', 'leaving 15–85']],
  ['retired: not later than today', { ...span, retired: true }, ['in-service 0–15', 'leaving 15–50']],
  ['retired without dates', { retired: true }, ['in-service 0–50']],
])('%s', (_name, route, expected) => {
  const snapshot = snapshotFrom({ routes: { '/v1': route, '/v2': { ...span, upstream }, '/v3': upstream } });
  const overview = overviewOf(snapshot, now);
  const [version, axis] = [overview.versions[0], axisOf(overview)];
  if (!version || !axis) throw new Error('there is no version or no date');
  const bars = timeline(version, axis, now)
    .toString()
    .matchAll(/class="([\w-]+)" x="([\d.]+)%" y="[\d.]+" width="([\d.]+)%"/g);
  const parts = [...bars].map(
    ([, kind, x, width]) => `${kind} ${Math.round(Number(x))}–${Math.round(Number(x) + Number(width))}`,
  );
  expect(parts).toEqual(['track 0–100', ...expected]);
});
