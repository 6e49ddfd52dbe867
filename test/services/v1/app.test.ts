import { describe, expect, it, vi } from 'vitest';
import { createApp } from '../../../services/v1/app.ts';
import { bases, Menu } from '../../../services/v1/menu.ts';
import { hosts } from '../adapted.ts';
import { ifNoneMatch, nextPage, post, start } from '../start.ts';

const ladyDraft = {
  title: 'White Lady',
  base: 'gin',
  price: '9.00',
  ingredients: ['gin', 'triple sec', 'lemon juice'],
};

it('reports every fault of a cocktail in one response', async () => {
  const service = await start(createApp());
  const { text } = await service.ask('/cocktails', post({ base: 'absinthe' }));
  expect(JSON.parse(text).detail.split('; ')).toEqual([
    'title must be a string of 1 to 80 characters',
    'base must be one of gin, rum, tequila, vodka, whiskey',
    'price must be a decimal in a string, such as "9.50"',
    'ingredients must be 1 to 20 strings of 1 to 60 characters each',
  ]);
});

it('links and sets its cookie without a prefix', async () => {
  const service = await start(createApp());
  const { headers } = await service.ask('/cocktails?base=gin&limit=2');
  expect(headers.get('link')).toBe('</cocktails?base=gin&limit=2&cursor=6>; rel="next"');
  expect(headers.getSetCookie()).toEqual([
    expect.stringMatching(/^last_seen=12; Max-Age=2592000; Path=\/cocktails; Expires=[^;]+; HttpOnly; SameSite=Lax$/),
  ]);
});

it.each(['/', '/unknown', '/v1/cocktails', '/cocktails/', '/Cocktails', '/cocktails/7'])(
  'answers 404 to %s',
  async (path) => {
    const service = await start(createApp());
    const { status, headers, text } = await service.ask(path);
    expect(headers.get('content-type')).toContain('application/problem+json');
    expect(JSON.parse(text)).toMatchObject({ status: 404, detail: `There is no route ${path}` });
    expect(status).toBe(404);
  },
);

it('answers 405 and OPTIONS with the methods of a route', async () => {
  const service = await start(createApp());
  const refused = await service.ask('/cocktails', { method: 'DELETE' });
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
  const asked = await service.ask('/drinks/7', { method: 'OPTIONS' });
  expect([asked.status, asked.headers.get('allow')]).toEqual([204, 'GET, HEAD']);
});

it('keeps the house menu and the 1,000 cocktails added last', async () => {
  const service = await start(createApp());
  for (let count = 0; count < 1001; count += 1) await service.ask('/cocktails', post(ladyDraft));
  const statusOf = async (id: number) => (await service.ask(`/drinks/${id}`)).status;
  expect(await Promise.all([12, 13, 14, 1013].map(statusOf))).toEqual([200, 404, 200, 200]);
});

it('answers its own failure with 500, with the cause only in the log', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const menu = new Menu();
  vi.spyOn(menu, 'find').mockImplementation(() => {
    throw new Error('disk on fire');
  });
  const { status, headers, text } = await (await start(createApp(menu))).ask('/drinks/7');
  expect([status, headers.get('content-type')]).toEqual([500, 'application/problem+json; charset=utf-8']);
  expect(text).not.toContain('fire');
  expect(log).toHaveBeenCalledWith(expect.objectContaining({ message: 'disk on fire' }));
  log.mockRestore();
});

describe.each(hosts)('v1 $name', ({ use, isAdapted }) => {
  const startV1 = use();

  it.each(['/cocktails?limit=5', '/cocktails?limit=2&base=gin', '/cocktails'])(
    'links all pages of the menu from %s',
    async (first) => {
      const service = await startV1();
      const seen: number[] = [];
      for (let path: string | undefined = first; path !== undefined; ) {
        const { headers, text } = await service.ask(path);
        seen.push(...JSON.parse(text).cocktails.map(({ id }: { id: number }) => id));
        path = nextPage(headers);
      }
      expect(seen).toEqual(first.includes('gin') ? [1, 6, 11] : [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    },
  );

  it('adds a cocktail and answers with its location', async () => {
    const service = await startV1();
    const added = await service.ask('/cocktails', post(ladyDraft));
    expect(added.headers.get('location')).toBe(isAdapted ? '/v1/drinks/13' : '/drinks/13');
    expect(JSON.parse(added.text)).toEqual({ id: 13, ...ladyDraft });
    expect((await service.ask('/drinks/13')).text).toBe(added.text);
  });

  it('counts the cocktails added since the list in the cookie', async () => {
    const service = await startV1();
    const cookie = (await service.ask('/cocktails')).headers.getSetCookie()[0]?.split(';')[0] ?? '';
    await service.ask('/cocktails', post(ladyDraft));
    const { text } = await service.ask('/cocktails', { headers: { cookie } });
    expect(JSON.parse(text).unseen).toBe(1);
    expect(JSON.parse((await service.ask('/cocktails')).text)).not.toHaveProperty('unseen');
  });

  it('answers 304 to a current ETag, and 200 once the menu has changed', async () => {
    const service = await startV1();
    const tag = (await service.ask('/cocktails?base=gin')).headers.get('etag') ?? '';
    const asked = ifNoneMatch(tag);
    expect((await service.ask('/cocktails?base=gin', asked)).status).toBe(304);
    await service.ask('/cocktails', post(ladyDraft));
    expect((await service.ask('/cocktails?base=gin', asked)).status).toBe(200);
  });

  it.each(['/cocktails', '/drinks/7', '/drinks/999', '/health'])(
    'answers HEAD %s like GET, without the body',
    async (path) => {
      const service = await startV1();
      const [get, head] = [await service.ask(path), await service.ask(path, { method: 'HEAD' })];
      // The gateway does not know the length of an adapted body that it does not receive.
      const fieldNames = [
        'content-type',
        'etag',
        'link',
        ...(isAdapted && get.status === 200 && path !== '/health' ? [] : ['content-length']),
      ];
      const fieldsOf = ({ headers }: typeof get) => fieldNames.map((name) => headers.get(name));
      expect(head).toMatchObject({ status: get.status, text: '' });
      expect(fieldsOf(head)).toEqual(fieldsOf(get));
    },
  );

  it('filters by every base that the contract allows', async () => {
    const service = await startV1();
    for (const base of bases) {
      const { cocktails } = JSON.parse((await service.ask(`/cocktails?base=${base}`)).text);
      expect(new Set(cocktails.map((cocktail: { base: string }) => cocktail.base))).toEqual(new Set([base]));
    }
  });
});
