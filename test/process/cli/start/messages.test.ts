import { describe, expect, it } from 'vitest';
import { snapshotFrom } from '../../../../gateway/config/load.ts';
import { banner } from '../../../../gateway/process/cli/start/messages.ts';

const now = Date.parse('2026-11-21T12:34:56Z');
const routes = { '/v1': 'http://127.0.0.1:3001' };

function dashboardLine(host: string, token?: string): string | undefined {
  const snapshot = snapshotFrom({ routes, gateway: { ...(token !== undefined && { admin_token: token }) } });
  const lines = banner(snapshot, { host: '127.0.0.1', port: 8080 }, { host, port: 9901 }, now).split('\n');
  return lines.find((line) => line.startsWith('Dashboard'));
}

describe('the address of the dashboard', () => {
  it.each([
    ['127.0.0.1', 'Dashboard: http://127.0.0.1:9901/'],
    ['::1', 'Dashboard: http://[::1]:9901/'],
    ['10.0.0.7', 'Dashboard: http://10.0.0.7:9901/'],
    ['0.0.0.0', 'Dashboard: http://127.0.0.1:9901/ (on every IPv4 address of this machine)'],
    ['::', 'Dashboard: http://[::1]:9901/ (on every address of this machine)'],
    ['', 'Dashboard: http://127.0.0.1:9901/ (on every address of this machine)'],
  ])('on %s', (host, line) => expect(dashboardLine(host)).toBe(line));

  it('with a token', () => {
    const line = 'Dashboard: http://127.0.0.1:9901/login (log in with gateway.admin_token)';
    expect(dashboardLine('127.0.0.1', 'correct-horse-battery')).toBe(line);
    const all =
      'Dashboard: http://127.0.0.1:9901/login (on every IPv4 address of this machine; log in with gateway.admin_token)';
    expect(dashboardLine('0.0.0.0', 'correct-horse-battery')).toBe(all);
  });
});

it('every URL has a host, even if the gateway listens on :8080', () => {
  const everywhere = { host: '', port: 8080 };
  const text = banner(snapshotFrom({ routes }), everywhere, { host: '', port: 9901 }, now);
  expect(text).toContain('version-gateway listens on http://127.0.0.1:8080 (on every address of this machine)\n');
  const urls = text.match(/http:\S+/g) ?? [];
  expect(urls.length).toBeGreaterThan(4);
  for (const url of urls) expect(URL.canParse(url), url).toBe(true);
});
