import { describe, expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { DataPlane } from '../../../gateway/process/runtime/dataPlane.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { isGatewayPath } from '../../../gateway/proxy/pipeline/findVersion.ts';
import { answer, startBackend } from '../../support/backend.ts';
import { fastLane } from '../../support/gateway.ts';
import { hostOf, withoutRoot } from '../../support/hostOf.ts';
import { ask, get } from '../../support/rawClient.ts';
import { valuesOf } from '../../support/response.ts';

const listening = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', ...fastLane };

/** A gateway with an API at the root, one below /orders and one below /shop/pay; each backend answers with its name. */
async function startHost(basePath = '/') {
  const backend = async (name: string) =>
    startBackend(({ target }) =>
      answer(200, `${name} ${target}`, `Location: ${target.includes('other') ? '/v2/x' : '/x'}`),
    );
  const [root, orders, orders2, pay] = [
    await backend('root'),
    await backend('orders'),
    await backend('orders2'),
    await backend('pay'),
  ];
  const gateway = { ...listening, base_path: basePath };
  const api = (routes: object) => snapshotFrom({ routes: routes as Record<string, unknown>, gateway });
  const host = hostOf(api({ '/v1': root.url }), {
    '/orders': api({ '/v1': orders.url, '/v2': { upstream: orders2.url, prefix: 'forward' } }),
    '/shop/pay': api({ '/v1': pay.url }),
  });
  const running = await startGateway(host);
  onTestFinished(() => running.close());
  return async (path: string) => {
    const response = await ask(running.port, get(path));
    return { status: response.status, body: response.body, location: valuesOf(response, 'Location')[0] };
  };
}

describe.each(['/', '/api'])('several APIs below %s', (basePath) => {
  const below = basePath === '/' ? '' : basePath;

  it('get the requests below their own base', async () => {
    const request = await startHost(basePath);
    const bodies = [];
    // Alternating, because a request looks first at the version of the one before.
    for (const path of [
      '/v1/a',
      '/orders/v1/a',
      '/v1/a',
      '/shop/pay/v1/a',
      '/orders/v2/a?b',
      '/orders/v1',
      '/v1/orders/v1',
    ])
      bodies.push((await request(below + path)).body);
    expect(bodies).toEqual([
      'root /a',
      'orders /a',
      'root /a',
      'pay /a',
      'orders2 /v2/a?b',
      'orders /',
      'root /orders/v1',
    ]);
  });

  it.each([
    '/ordersx/v1/a',
    '/Orders/v1/a',
    '/orders/V1/a',
    '/orders/v01/a',
    '/orders//v1/a',
    '/%6frders/v1/a',
    '/orders%2Fv1/a',
    '/shop/v1/a',
    '/pay/v1/a',
    '/orders/v10/a',
    '/shop/pay/x/v1/a',
  ])('do not get %s', async (path) => {
    const request = await startHost(basePath);
    await request(`${below}/orders/v1/a`);
    expect((await request(below + path)).status).toBe(404);
  });

  it('have their own paths in the URLs of their responses', async () => {
    const request = await startHost(basePath);
    const locations = [];
    for (const path of ['/orders/v1/a', '/orders/v1/other', '/shop/pay/v1/a', '/shop/pay/v1/other'])
      locations.push((await request(below + path)).location);
    expect(locations).toEqual([
      `${below}/orders/v1/x`,
      // /v2 is a version of this API, and not one of the API at the root.
      `${below}/orders/v2/x`,
      `${below}/shop/pay/v1/x`,
      `${below}/shop/pay/v1/v2/x`,
    ]);
  });
});

const api = (routes: object, gateway: object = {}) =>
  snapshotFrom({ routes: routes as Record<string, unknown>, gateway: { ...listening, ...gateway } });

it.each(['/', '/api'])('a path of no API below %s is answered with the listed APIs', async (basePath) => {
  const gateway = { base_path: basePath, self_service: 'on' };
  const one = api({ '/v1': 'http://127.0.0.1:1' }, gateway);
  const host = withoutRoot(hostOf(one, { '/orders': one, '/shop/pay': one }));
  const running = await startGateway(host);
  onTestFinished(() => running.close());
  const below = basePath === '/' ? '' : basePath;
  const members = async (path: string) => JSON.parse((await ask(running.port, get(path))).body);
  for (const path of [
    '/v1/x',
    '/x',
    '/shop',
    '/ordersx/v1',
    '/versions/me',
    '/contracts/v1.yaml',
    '/guides/v1-to-v2',
  ]) {
    const { code, apis, versions } = await members(below + path);
    expect([code, versions]).toEqual(['UNKNOWN_VERSION', undefined]);
    expect(apis).toEqual([
      { api: '/orders', href: `${below}/orders` },
      { api: '/shop/pay', href: `${below}/shop/pay` },
    ]);
  }
  expect((await members(`${below}/shop/pay/v2`)).versions).toEqual([
    { version: 'v1', stage: 'active', href: `${below}/shop/pay/v1` },
  ]);
});

describe('of the paths of an application around it, a gateway answers', () => {
  const one = api({ '/v1': 'http://127.0.0.1:1' });
  const host = hostOf(one, { '/orders': one, '/shop/pay': one });
  it.each([
    ['/orders/v1/x', true, true],
    ['/orders/v2-released', true, true],
    ['/shop/pay/v9', true, true],
    ['/orders', true, true],
    ['/orders/contracts/v1.yaml', true, true],
    ['/orders/guides/v1-to-shop-pay-v1', true, true],
    ['/orders/guides/v1-to-shop-v1', false, false],
    ['/shop/pay/lifecycle.ics', true, true],
    ['/blog/v2-released', false, false],
    ['/shop/v1', false, false],
    ['/shop/pay/x/v1', false, false],
    ['/shop', false, false],
    ['/orders/x', false, false],
    // The API at the root has these paths only if it has versions.
    ['/v2-released', true, false],
    ['/contracts/v1.yaml', true, false],
    // The pages of the host.
    ['/', true, true],
    ['/lifecycle.atom', true, true],
  ])('%s: %s, and %s without an API at the root', (path, expected, expectedWithoutRoot) => {
    const answers = [host, withoutRoot(host)].map((snapshot) => {
      const dataPlane = new DataPlane(snapshot, { discovery: () => () => {} });
      onTestFinished(() => dataPlane.close());
      return isGatewayPath(path, dataPlane.context);
    });
    expect(answers).toEqual([expected, expectedWithoutRoot]);
  });
});
