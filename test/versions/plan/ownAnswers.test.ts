import { expect, it } from 'vitest';
import { answerSettingsOf } from '../../../gateway/config/answerSettings.ts';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { changedVersions } from '../../../gateway/versions/plan/ownAnswers.ts';

const upstream = 'http://127.0.0.1:3001';
const v1 = { upstream, contract: 'services/v1/contract/openapi.yaml' };
const v2 = { upstream, contract: 'services/v2/contract/openapi.yaml' };
const adapted = (adapter: object) => ({ ...v1, adapter: { from: '/v2', mode: 'serve', ...adapter } });
const one = { 'GET /drinks/{id}': { to: 'GET /cocktails/{id}' } };
const withBody = { 'POST /cocktails': { to: 'POST /cocktails', request: { body: [{ rename: { a: 'b' } }] } } };

const document = { routes: { '/v1': v1, '/v2': v2 } };
const routes = (first: object, second: object = v2) => ({ routes: { '/v1': first, '/v2': second } });

// The ledger is asked only about these versions, so that all other reloads take no longer than without this comparison.
it.each([
  ['nothing', {}, []],
  ['timeouts', { defaults: { timeouts: { first_byte: '1s' } } }, []],
  ['a higher limit', { defaults: { limits: { body: '20MiB' } }, gateway: { limits: { url: '9KiB' } } }, []],
  ['limits of the load', { defaults: { limits: { in_flight: 1, queue: '1ms' } } }, []],
  ['a smaller body', { defaults: { limits: { body: '9MiB' } } }, ['v1', 'v2']],
  ['a smaller body of one version', routes(v1, { ...v2, limits: { body: 1 } }), ['v2']],
  ['a shorter target', { gateway: { limits: { url: '7KiB' } } }, ['v1', 'v2']],
  ['a smaller head', { gateway: { limits: { head: '15KiB' } } }, ['v1', 'v2']],
  ['an adapter that serves', routes(adapted({ routes: one })), ['v1']],
  ['an adapter that only compares', routes({ ...v1, adapter: { from: '/v2', mode: 'shadow', routes: one } }), []],
  ['a new version', { routes: { ...document.routes, '/v3': { upstream, limits: { body: 1 } } } }, []],
  ['a removed version', { routes: { '/v2': v2 } }, []],
])('an edit of %s may refuse requests of %j', (_name, edit, versions) => {
  const [running, candidate] = [snapshotFrom(document), snapshotFrom({ ...document, ...edit })];
  expect(changedVersions({ candidate, running })).toEqual(versions);
});

it.each([
  ['no change', { routes: one }, { routes: one }, []],
  ['fewer routes', { routes: { ...one, ...withBody } }, { routes: one }, ['v1']],
  ['another order', { routes: { ...one, ...withBody } }, { routes: { ...withBody, ...one } }, []],
  ['a smaller body without routes that change it', { routes: one, body: '1MiB' }, { routes: one, body: '1KiB' }, []],
  ['a smaller body', { routes: withBody, body: '1MiB' }, { routes: withBody, body: '1KiB' }, ['v1']],
  ['a larger body', { routes: withBody, body: '1KiB' }, { routes: withBody, body: '2KiB' }, []],
])('an adapter with %s may refuse requests of %j', (_name, before, after, versions) => {
  const [running, candidate] = [before, after].map((adapter) => snapshotFrom(routes(adapted(adapter)))) as [
    ReturnType<typeof snapshotFrom>,
    ReturnType<typeof snapshotFrom>,
  ];
  expect(changedVersions({ candidate, running })).toEqual(versions);
});

it('compares with what the ledger has recorded if no gateway runs', () => {
  const [recorded, candidate] = [
    answerSettingsOf(snapshotFrom(document)),
    snapshotFrom({ ...document, defaults: { limits: { body: '9MiB' } } }),
  ];
  expect(changedVersions({ candidate: snapshotFrom(document), running: undefined, recorded })).toEqual([]);
  expect(changedVersions({ candidate, running: undefined, recorded })).toEqual(['v1', 'v2']);
  expect(changedVersions({ candidate, running: undefined, recorded: undefined })).toEqual(['v1', 'v2']);
});
