import { expect, it, vi } from 'vitest';
import { createApp } from '../../../services/v2/app.ts';
import { bases, Menu } from '../../../services/v2/menu.ts';
import { ifNoneMatch, nextPage, post, start } from '../start.ts';

const ladyDraft = {
  name: 'White Lady',
  base: 'gin',
  price: 9,
  ingredients: ['gin', 'triple sec', 'lemon juice'],
};

it('reports every fault of a cocktail in one response', async () => {
  const service = await start(createApp());
  const { text } = await service.ask('/v2/cocktails', post({ base: 'absinthe', glass: '' }));
  expect(JSON.parse(text).detail.split('; ')).toEqual([
    'name must be a string of 1 to 80 characters',
    'base must be one of gin, rum, tequila, vodka, whiskey',
    'price must be a number from 0 to 999.99',
    'ingredients must be 1 to 20 strings of 1 to 60 characters each',
    'glass, if given, must be a string of 1 to 40 characters',
  ]);
});

it.each(['/v2/cocktails?limit=5', '/v2/cocktails?limit=2&base=gin', '/v2/cocktails'])(
  'links all pages of the menu from %s',
  async (first) => {
    const service = await start(createApp());
    const seen: number[] = [];
    for (let path: string | undefined = first; path !== undefined; ) {
      const { headers, text } = await service.ask(path);
      seen.push(...JSON.parse(text).cocktails.map(({ id }: { id: number }) => id));
      path = nextPage(headers);
    }
    expect(seen).toEqual(first.includes('gin') ? [1, 6, 11] : [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  },
);

it('links and sets its cookie below its prefix', async () => {
  const service = await start(createApp());
  const { headers } = await service.ask('/v2/cocktails?base=gin&limit=2');
  expect(headers.get('link')).toBe('</v2/cocktails?base=gin&limit=2&cursor=6>; rel="next"');
  expect(headers.getSetCookie()).toEqual([
    expect.stringMatching(
      /^last_seen=12; Max-Age=2592000; Path=\/v2\/cocktails; Expires=[^;]+; HttpOnly; SameSite=Lax$/,
    ),
  ]);
});

it('adds a cocktail and answers with its location', async () => {
  const service = await start(createApp());
  const added = await service.ask('/v2/cocktails', post(ladyDraft));
  expect(added.headers.get('location')).toBe('/v2/cocktails/13');
  expect(JSON.parse(added.text)).toEqual({ id: 13, ...ladyDraft });
  expect((await service.ask('/v2/cocktails/13')).text).toBe(added.text);
});

it('counts the cocktails added since the list in the cookie', async () => {
  const service = await start(createApp());
  const cookie = (await service.ask('/v2/cocktails')).headers.getSetCookie()[0]?.split(';')[0] ?? '';
  await service.ask('/v2/cocktails', post(ladyDraft));
  const { text } = await service.ask('/v2/cocktails', { headers: { cookie } });
  expect(JSON.parse(text).unseen).toBe(1);
  expect(JSON.parse((await service.ask('/v2/cocktails')).text)).not.toHaveProperty('unseen');
});

it('answers 304 to a current ETag, and 200 once the menu has changed', async () => {
  const service = await start(createApp());
  const tag = (await service.ask('/v2/cocktails?base=gin')).headers.get('etag') ?? '';
  const asked = ifNoneMatch(tag);
  expect((await service.ask('/v2/cocktails?base=gin', asked)).status).toBe(304);
  await service.ask('/v2/cocktails', post(ladyDraft));
  expect((await service.ask('/v2/cocktails?base=gin', asked)).status).toBe(200);
});

it.each(['/v2/cocktails', '/v2/cocktails/7', '/v2/cocktails/999', '/v2/health'])(
  'answers HEAD %s like GET, without the body',
  async (path) => {
    const service = await start(createApp());
    const [get, head] = [await service.ask(path), await service.ask(path, { method: 'HEAD' })];
    const fieldsOf = ({ headers }: typeof get) =>
      ['content-type', 'content-length', 'etag', 'link'].map((name) => headers.get(name));
    expect(head).toMatchObject({ status: get.status, text: '' });
    expect(fieldsOf(head)).toEqual(fieldsOf(get));
  },
);

it.each([
  '/',
  '/cocktails',
  '/v1/cocktails',
  '/v2',
  '/v2/',
  '/v2/cocktails/',
  '/V2/cocktails',
  '/v2/legacy-search',
  '/v2/drinks/7',
])('answers 404 to %s', async (path) => {
  const service = await start(createApp());
  const { status, headers, text } = await service.ask(path);
  expect(headers.get('content-type')).toContain('application/problem+json');
  expect(JSON.parse(text)).toMatchObject({ status: 404, detail: `There is no route ${path}` });
  expect(status).toBe(404);
});

it('answers 405 and OPTIONS with the methods of a route', async () => {
  const service = await start(createApp());
  const refused = await service.ask('/v2/cocktails', { method: 'DELETE' });
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
  const asked = await service.ask('/v2/cocktails/7', { method: 'OPTIONS' });
  expect([asked.status, asked.headers.get('allow')]).toEqual([204, 'GET, HEAD']);
});

it('keeps the house menu and the 1,000 cocktails added last', async () => {
  const service = await start(createApp());
  for (let count = 0; count < 1001; count += 1) await service.ask('/v2/cocktails', post(ladyDraft));
  const statusOf = async (id: number) => (await service.ask(`/v2/cocktails/${id}`)).status;
  expect(await Promise.all([12, 13, 14, 1013].map(statusOf))).toEqual([200, 404, 200, 200]);
});

it('filters by every base that the contract allows', async () => {
  const service = await start(createApp());
  for (const base of bases) {
    const { cocktails } = JSON.parse((await service.ask(`/v2/cocktails?base=${base}`)).text);
    expect(new Set(cocktails.map((cocktail: { base: string }) => cocktail.base))).toEqual(new Set([base]));
  }
});

it('answers its own failure with 500, with the cause only in the log', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const menu = new Menu();
  vi.spyOn(menu, 'find').mockImplementation(() => {
    throw new Error('disk on fire');
  });
  const { status, headers, text } = await (await start(createApp(menu))).ask('/v2/cocktails/7');
  expect([status, headers.get('content-type')]).toEqual([500, 'application/problem+json; charset=utf-8']);
  expect(text).not.toContain('fire');
  expect(log).toHaveBeenCalledWith(expect.objectContaining({ message: 'disk on fire' }));
  log.mockRestore();
});
