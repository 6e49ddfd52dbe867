import { expect, it } from 'vitest';
import { composeRules } from '../../../gateway/config/compose/compare.ts';
import { compareFiles, fixturesIn, inWords } from './fixtures.ts';

const fixtures = fixturesIn('compose');

it.each(fixtures)('compose/$name', ({ files, expected, running }) => {
  expect(inWords(compareFiles(files, running && { running }))).toBe(expected);
});

it.each(Object.keys(composeRules))('the rule %s has a fixture in which it finds something', (id) => {
  expect(fixtures.find(({ name }) => name === id)?.expected).toMatch(/./);
});

it('reports a running container of a retired version if the engine lists it', () => {
  const files = {
    'routes.yaml': 'routes:\n  /v1: { retired: true, deprecation: 2026-01-01, sunset: 2026-06-30 }\n  /v2: http://v2\n',
    'docker-compose.yml':
      'services:\n  gateway: { image: version-gateway }\n  v1: { image: api, profiles: [old] }\n  v2: { image: api }\n',
  };
  expect(inWords(compareFiles(files))).toBe('');
  expect(inWords(compareFiles(files, { running: ['v2'] }))).toBe('');
  expect(inWords(compareFiles(files, { running: ['v1'] }))).toBe(`warning: docker-compose.yml:3:3  services.v1
  /v1 is retired and no longer needs v1, but its container still runs.  Wait for \`version-gateway status --wait /v1\`, then \`docker compose stop v1\`.
`);
});

it('finds backends at published ports if the gateway is on the host network', () => {
  const compose = `services:
  gateway: { image: version-gateway, network_mode: host }
  v1: { image: api, ports: ["3001:80"] }
`;
  const compared = (url: string) =>
    inWords(compareFiles({ 'routes.yaml': `routes: { /v1: "${url}" }`, 'docker-compose.yml': compose }));
  expect(compared('http://127.0.0.1:3001')).toBe('');
  expect(compared('http://v1:80')).toContain('v1 is on the network default, and gateway on the network of the host.');
});

it('only warns if a container of another project may have the name', () => {
  const compose = `services:
  gateway: { image: version-gateway, networks: [shared] }
networks: { shared: { external: true } }
`;
  const { result } = compareFiles({ 'routes.yaml': 'routes: { /v1: "http://v1:80" }', 'docker-compose.yml': compose });
  expect([result.faults, result.warnings.length]).toEqual([[], 1]);
});

it.each([
  ['a service that a link names', 'links: ["Coffee:Backend"]'],
  ['an entry of extra_hosts', 'extra_hosts: ["Backend:192.0.2.1"]'],
  ['a container of another project', 'external_links: ["coffee_1:Backend"]'],
])('compares host names without regard to upper case: %s', (_what, option) => {
  const compose = `services:
  gateway: { image: version-gateway, ${option} }
  Coffee: { image: api }
`;
  const routes = 'routes: { /v1: "http://backend:80" }';
  expect(inWords(compareFiles({ 'routes.yaml': routes, 'docker-compose.yml': compose }))).not.toContain('routes.yaml:');
});
