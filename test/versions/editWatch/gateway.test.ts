import { describe, expect, it } from 'vitest';
import { startReceiver } from '../../operate/notify/receiver.ts';
import { runIn } from '../../process/cli/io.ts';
import { answer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { refusedUrl } from '../../support/gateway.ts';
import { startWatched } from './watchedGateway.ts';

const trialOff = { guard: { trial: 'off' } };

async function startTwo(more: object = {}) {
  const [v1, v2] = [await startBackend(answer(200, 'v1')), await startBackend(answer(200, 'v2'))];
  const document = { ...trialOff, ...more, routes: { '/v1': v1.url, '/v2': { upstream: v2.url } } };
  const watched = await startWatched(document);
  watched.pass(120_000);
  const withV2 = (settings: object, also: object = {}) => ({
    ...document,
    ...also,
    routes: { ...document.routes, '/v2': settings },
  });
  return { ...watched, document, withV2, v1, v2 };
}

describe('after an edit', () => {
  it('names the version whose backend answers 404, everywhere, with the line to undo', async () => {
    const { edit, send, pass, found, withV2, v2, notices, admin, file } = await startTwo();
    expect(await send('/v1/drinks', 25)).toEqual(new Set([200]));
    expect(await send('/v2/drinks', 25)).toEqual(new Set([200]));
    const other = await startBackend(answer(404, 'not here'));
    await edit(withV2({ upstream: other.url }));
    expect(await send('/v2/drinks', 5)).toEqual(new Set([404]));
    expect(await send('/v1/drinks', 5)).toEqual(new Set([200]));
    pass(6_000);
    const watch = await found('v2', { jumped: 'yes' });
    expect(watch).toMatchObject({
      known: true,
      before: { requests: 25, lost: 0 },
      after: { requests: 5, lost: 5, statuses: { 404: 5 } },
      edits: [{ changes: [`/v2: target ${other.url} added, target ${v2.url} removed`] }],
      undo: [{ key: 'routes./v2.upstream', before: v2.url, after: other.url }],
    });
    const undo = `${file}:${watch.undo[0]?.line}  routes./v2.upstream: write ${v2.url} instead of ${other.url}`;
    expect(watch.undo[0]?.text).toBe(undo);
    expect(notices).toContainEqual(
      expect.stringMatching(
        /^\/v2 loses requests since the edit of \S+: 5 of 5 in 6 s \(404: 5\), against 0 of 25 in the 2 min before$/,
      ),
    );
    expect(notices).toContain(`  to undo it: ${undo}`);
    expect((await found('v1', {})).jumped).not.toBe('yes');
    const cli = await runIn('.', ['status', '--admin', new URL(admin).host]);
    expect(cli.stdout).toContain('/v2 loses requests since the edit of ');
    expect(cli.stdout).toContain(`to undo it: ${undo}`);
    const metrics = await (await fetch(`${admin}/metrics`)).text();
    expect(metrics).toContain('version_gateway_lost_requests_jumped{version="v2"} 1');
    expect(metrics).not.toContain('version_gateway_lost_requests_jumped{version="v1"} 1');
  });

  it('sends an event', async () => {
    const receiver = await startReceiver();
    const notify = [{ url: receiver.url, events: ['lost-requests'] }];
    const { edit, send, pass, found, withV2, v2 } = await startTwo({ notify });
    await send('/v2/drinks', 25);
    const target = await refusedUrl();
    await edit(withV2({ upstream: target }));
    await send('/v2/drinks', 5);
    pass(6_000);
    await found('v2', { jumped: 'yes' });
    await eventually(() =>
      expect(receiver.titles()).toEqual([expect.stringMatching(/^\/v2 loses requests since an edit/)]),
    );
    const { data } = JSON.parse(receiver.received[0]?.body ?? '') as { data: object };
    expect(data).toMatchObject({ version: 'v2', undo: [{ before: v2.url, after: target }] });
  });

  it.each([
    ['refuses connections', refusedUrl, 502],
    ['answers 405', async () => (await startBackend(answer(405, ''))).url, 405],
    ['answers 503', async () => (await startBackend(answer(503, ''))).url, 503],
  ])('names a version whose target %s', async (_name, target, status) => {
    const { edit, send, pass, found, withV2 } = await startTwo();
    await send('/v2/drinks', 25);
    await edit(withV2({ upstream: await target() }));
    await send('/v2/drinks', 5);
    pass(6_000);
    expect((await found('v2', { jumped: 'yes' })).after.statuses).toHaveProperty(String(status));
  });

  it('does not alarm after an edit that loses nothing, and says so only with evidence', async () => {
    const { edit, send, pass, found, withV2, notices } = await startTwo();
    await send('/v2/drinks', 25);
    const other = await startBackend(answer(200, 'new'));
    await edit(withV2({ upstream: other.url }));
    await send('/v2/drinks', 10);
    pass(61_000);
    expect(await found('v2', { state: 'ended' })).toMatchObject({ jumped: 'no', undo: [] });
    expect(await found('v1', { state: 'ended' })).toMatchObject({ jumped: 'not known', known: false });
    expect(notices.filter((line) => line.includes('loses'))).toEqual([]);
    await eventually(() =>
      expect(notices).toContainEqual(
        expect.stringMatching(
          /^60 s after the edit of \S+: are more requests lost than before\? {2}\/v1: not known \(no requests before and since\); \/v2: no$/,
        ),
      ),
    );
  });

  it('does not alarm because of other statuses, or because as many requests as before are lost', async () => {
    const half = await startBackend(({ target }) => answer(target.endsWith('missing') ? 404 : 200, ''));
    const { edit, send, pass, found, withV2, document } = await startTwo();
    await edit({ ...document, routes: { ...document.routes, '/v2': half.url } });
    await send('/v2/drinks', 20);
    await send('/v2/missing', 20);
    const other = await startBackend(({ target }) => answer(target.endsWith('missing') ? 404 : 500, ''));
    await edit(withV2({ upstream: other.url }));
    await send('/v2/drinks', 20);
    await send('/v2/missing', 20);
    pass(61_000);
    expect((await found('v2', { state: 'ended' })).jumped).toBe('no');
  });

  it('does not know what a version without requests before or since would lose', async () => {
    const { edit, send, pass, found, withV2 } = await startTwo();
    await edit(withV2({ upstream: await refusedUrl() }));
    await send('/v2/drinks', 5);
    pass(61_000);
    const watch = await found('v2', { state: 'ended' });
    expect(watch).toMatchObject({ jumped: 'not known', known: false, after: { requests: 5, lost: 5 } });
    expect(watch.text).toMatch(/is not known: no requests in the .+ before; since, 5 of 5 were lost$/);
    expect(watch.undo).toHaveLength(1);
  });

  it('names versions that lose requests because gateway.base_path has changed', async () => {
    const { edit, send, pass, found, document, file } = await startTwo();
    await send('/v2/drinks', 25);
    await edit({
      ...document,
      gateway: { base_path: '/api' },
      guard: { trial: 'off', force: { '/v1': 'moved', '/v2': 'moved' } },
    });
    expect(await send('/v2/drinks', 5)).toEqual(new Set([404]));
    pass(6_000);
    const watch = await found('v2', { jumped: 'yes' });
    expect(watch).toMatchObject({
      after: { requests: 5, lost: 5, statuses: { 404: 5 } },
      edits: [{ changes: ['gateway: settings changed'] }],
    });
    expect(watch.undo.map(({ text }) => text)).toEqual([
      expect.stringMatching(`^${file}:\\d+ {2}gateway.base_path: remove it \\(/api\\)$`),
    ]);
    // The edit is undone, and the requests are answered again.
    await edit({ ...document, guard: { trial: 'off', force: { '/v1': 'moved back', '/v2': 'moved back' } } });
    await send('/v2/drinks', 10);
    pass(6_000);
    await found('v2', { jumped: 'yes', state: 'recovered' });
  });

  it('names versions that lose requests because of a default', async () => {
    const { edit, send, pass, found, document } = await startTwo();
    const slow = await startBackend(({ target }) => (target.endsWith('slow') ? [] : answer(200, 'quick')));
    const routes = { ...document.routes, '/v2': slow.url };
    await edit({ ...document, routes });
    await send('/v2/drinks', 25);
    await edit({ ...document, routes, defaults: { timeouts: { first_byte: '20ms' } } });
    expect(await send('/v2/slow', 5)).toEqual(new Set([504]));
    pass(6_000);
    const watch = await found('v2', { jumped: 'yes' });
    expect(watch.undo.map(({ key }) => key)).toEqual(['defaults']);
    expect(watch.edits.at(-1)?.changes).toEqual(['/v2: settings changed']);
  });

  it('names versions whose requests the gateway itself refuses, because of a shorter timeout or another form of their paths', async () => {
    const { edit, send, post, pass, found, document, v2 } = await startTwo();
    const routes = { ...document.routes, '/v2': { upstream: v2.url, prefix: 'forward' } };
    await edit({ ...document, routes });
    expect(await post('/v1/drinks', 25, 0)).toEqual(new Set([200]));
    expect(await send('/v2//host', 25)).toEqual(new Set([200]));
    const stripped = { ...document.routes, '/v2': { upstream: v2.url, prefix: 'strip' } };
    await edit({ ...document, routes: stripped, gateway: { timeouts: { body_idle: '20ms' } } });
    // The bodies of these requests pause until the gateway answers.
    expect(await post('/v1/drinks', 5, Number.POSITIVE_INFINITY)).toEqual(new Set([408]));
    expect(await send('/v2//host', 5)).toEqual(new Set([400]));
    pass(6_000);
    expect((await found('v1', { jumped: 'yes' })).after.statuses).toEqual({ 408: 5 });
    const watch = await found('v2', { jumped: 'yes' });
    expect(watch.after.statuses).toEqual({ 400: 5 });
    expect(watch.undo.map(({ key }) => key)).toContain('routes./v2.prefix');
  });

  it('names a version that was removed while clients call it', async () => {
    const { edit, send, pass, found, document, v2 } = await startTwo();
    await send('/v1/drinks', 25);
    const force = { '/v1': 'nobody needs it' };
    await edit({ ...document, guard: { trial: 'off', force }, routes: { '/v2': v2.url } });
    expect(await send('/v1/drinks', 5)).toEqual(new Set([404]));
    pass(6_000);
    const watch = await found('v1', { jumped: 'yes' });
    expect(watch.edits[0]?.changes).toEqual(['/v1: removed']);
    expect(watch.undo.map(({ key }) => key)).toEqual(['routes./v1']);
  });

  it('does not watch a version that the edit retires: its 410 is wanted', async () => {
    const { edit, send, pass, watches, found, document } = await startTwo();
    await send('/v1/drinks', 25);
    const force = { '/v1': 'nobody needs it' };
    const retired = {
      upstream: document.routes['/v1'],
      deprecation: '2026-01-01',
      sunset: '2026-02-01',
      retired: true,
    };
    await edit({ ...document, guard: { trial: 'off', force }, routes: { ...document.routes, '/v1': retired } });
    expect(await send('/v1/drinks', 5)).toEqual(new Set([410]));
    pass(61_000);
    await found('v2', { state: 'ended' });
    expect((await watches()).map(({ version }) => version)).toEqual(['v2']);
  });

  it('does not show a secret that the edit has changed', async () => {
    const { edit, send, pass, found, document, notices, admin } = await startTwo();
    await send('/v2/drinks', 25);
    const routes = { ...document.routes, '/v2': 'http://127.0.0.1:1' };
    // The trusted proxy keeps the admin listener open for this test.
    const gateway = { admin_token: 'a-very-long-secret-token-of-the-operator', admin_loopback: 'open' };
    await edit({ ...document, gateway, routes });
    await send('/v2/drinks', 5);
    pass(6_000);
    const { undo } = await found('v2', { jumped: 'yes' });
    expect(undo.map(({ key, after }) => [key, after])).toContainEqual(['gateway.admin_token', '***']);
    expect(JSON.stringify([undo, notices, await (await fetch(`${admin}/api/status`)).json()])).not.toContain(
      'a-very-long',
    );
  });
});

describe('a second edit within the 60 s', () => {
  it('is not blamed for what an earlier edit has broken, and its own watch shows the recovery', async () => {
    const { edit, send, pass, found, watches, withV2, v2, document, notices } = await startTwo();
    await send('/v2/drinks', 25);
    await edit(withV2({ upstream: await refusedUrl() }));
    await send('/v2/drinks', 10);
    pass(6_000);
    const first = await found('v2', { jumped: 'yes' });
    // An edit that changes nothing for v2.
    const broken = first.undo[0]?.after;
    await edit({
      ...document,
      routes: { '/v1': { upstream: document.routes['/v1'], info: 'https://example.com' }, '/v2': { upstream: broken } },
    });
    await send('/v2/drinks', 10);
    pass(30_000);
    await eventually(async () => {
      const ofV2 = (await watches()).filter(({ version }) => version === 'v2');
      expect(ofV2.map(({ jumped }) => jumped)).toEqual(['yes', 'not known']);
      expect(ofV2[1]?.after).toMatchObject({ requests: 10, lost: 10 });
      expect(ofV2[1]?.before).toMatchObject({ requests: 10, lost: 10 });
    });
    // The edit that undoes the first one.
    await edit(withV2({ upstream: v2.url }));
    await send('/v2/drinks', 10);
    pass(6_000);
    expect(await found('v2', { state: 'recovered' })).toMatchObject({ jumped: 'yes', edits: first.edits });
    await eventually(() => expect(notices.filter((line) => line.startsWith('/v2 is answered again'))).toHaveLength(1));
    expect(notices.filter((line) => line.startsWith('/v2 loses'))).toHaveLength(1);
  });

  it('is named together with the first one if their effects cannot be told apart', async () => {
    const { edit, send, pass, found, withV2, v1 } = await startTwo();
    await send('/v2/drinks', 25);
    const broken = await refusedUrl();
    await edit(withV2({ upstream: broken }));
    await send('/v2/drinks', 1);
    await edit(withV2({ upstream: broken, info: 'https://example.com' }));
    await send('/v2/drinks', 4);
    pass(6_000);
    const watch = await found('v2', { jumped: 'yes' });
    expect(watch).toMatchObject({ before: { requests: 25, lost: 0 }, after: { requests: 5, lost: 5 } });
    expect(watch.edits).toHaveLength(2);
    expect(watch.text).toMatch(/^\/v2 loses requests since the edits of \S+ and \S+: /);
    expect(watch.undo.map(({ key }) => key)).toEqual(['routes./v2.upstream', 'routes./v2.info']);
    expect(v1.requests).toHaveLength(0);
  });

  it('alone is named if the first one was harmless', async () => {
    const { edit, send, pass, found, withV2 } = await startTwo();
    await send('/v2/drinks', 25);
    const other = await startBackend(answer(200, 'new'));
    await edit(withV2({ upstream: other.url }));
    await send('/v2/drinks', 10);
    pass(10_000);
    await edit(withV2({ upstream: await refusedUrl() }));
    await send('/v2/drinks', 5);
    pass(6_000);
    const watch = await found('v2', { jumped: 'yes' });
    expect(watch.edits).toHaveLength(1);
    expect(watch).toMatchObject({ before: { requests: 35, lost: 0 }, after: { requests: 5, lost: 5 } });
  });
});
