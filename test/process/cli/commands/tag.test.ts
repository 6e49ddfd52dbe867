import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadSnapshot } from '../../../../gateway/config/load.ts';
import { startGateway } from '../../../../gateway/process/runtime/gateway.ts';
import { systemClock } from '../../../../gateway/shared/clock.ts';
import { ClientIdentification } from '../../../../gateway/usage/counting/identification.ts';
import { Ledger } from '../../../../gateway/usage/ledger/ledger.ts';
import { temporaryFolder } from '../../../config/temporary.ts';
import { serve } from '../../../operate/discovery/server.ts';
import { eventually } from '../../../support/eventually.ts';
import { runIn } from '../io.ts';

const payload = Buffer.from(JSON.stringify({ sub: 'ann@example.com', tenant: 7 })).toString('base64url');
const jwt = `eyJhbGciOiJIUzI1NiJ9.${payload}.c2lnbmF0dXJl`;

/** A folder with a routes.yaml. */
function folderWith(identifiers: readonly string[], upstream = 'http://127.0.0.1:1'): string {
  const folder = temporaryFolder();
  const routes = `routes: { /v1: ${upstream} }
gateway: { listen: "127.0.0.1:0", admin: "127.0.0.1:0", drain: 1s }
usage: { identify: ${JSON.stringify(identifiers)} }
`;
  writeFileSync(join(folder, 'routes.yaml'), routes);
  return folder;
}

function tag(folder: string, args: readonly string[], input?: string) {
  return runIn(folder, ['tag', ...args], {}, false, input);
}

it('prints the tag that a ledger with usage.tag_key will store, without a ledger', async () => {
  const folder = folderWith(['header:x-api-key']);
  const file = join(folder, 'routes.yaml');
  const [key, value] = ['a key of this test', 'secret'];
  writeFileSync(file, readFileSync(file, 'utf8').replace('usage: {', `usage: { tag_key: "\${TAG_KEY}", `));
  const { code, stdout } = await runIn(folder, ['tag', 'x-api-key'], { TAG_KEY: key }, false, value);
  const { salt } = Ledger.open({ ...loadSnapshot(file, { TAG_KEY: key }).usage }, { clock: systemClock });
  const identification = new ClientIdentification([{ by: 'header', name: 'x-api-key' }], salt);
  expect([code, stdout]).toEqual([0, `${identification.clientOf(['X-Api-Key', value], '')}\n`]);
});

/** Sends a request with this field, byte for byte. */
async function call(port: number, headers: Record<string, string>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  request({ port, host: '127.0.0.1', path: '/v1/x', headers }, (res) => res.resume().on('end', resolve))
    .on('error', reject)
    .end();
  await promise;
}

const identify = [
  'header:x-api-key',
  'header:x-client-id',
  'jwt:sub',
  'header:authorization',
  'header:cookie',
  'user-agent',
  'address',
];

const calls: readonly (readonly [Record<string, string>, string, string, RegExp])[] = [
  [{ 'X-Api-Key': 'k-123 456' }, 'x-api-key', 'k-123 456\n', /^x-api-key:#[0-9a-f]{16}$/],
  [{ 'X-Api-Key': 'k-1' }, 'header:X-API-Key', 'k-1', /^x-api-key:#/],
  [{ 'X-Api-Key': Buffer.from('käse').toString('latin1') }, 'x-api-key', 'käse\r\n', /^x-api-key:#/],
  [{ Authorization: 'Bearer abc.def' }, 'authorization', 'Bearer abc.def\n', /^authorization:#/],
  [{ Cookie: 'sid=5; theme=dark' }, 'cookie', 'sid=5; theme=dark\n', /^cookie:#/],
  [{ 'X-Client-Id': 'ios' }, 'x-client-id', 'ios\n', /^x-client-id:ios$/],
  [{ 'X-Client-Id': 'sk_live_1' }, 'x-client-id', 'sk_live_1\n', /^x-client-id:#/],
  [{ Authorization: `Bearer ${jwt}` }, 'jwt:sub', `${jwt}\n`, /^jwt-sub:#/],
  [{ Authorization: `Bearer ${jwt}` }, 'jwt:sub', `Bearer ${jwt}\n`, /^jwt-sub:#/],
  [{ 'User-Agent': 'curl/8.5.0' }, 'user-agent', 'curl/8.5.0\n', /^user-agent:curl$/],
  [{}, 'address', '127.0.0.1\n', /^address:127\.0\.0\.0\/24$/],
];

it('prints the tag from the ledger of a running gateway, for every kind of identifier', async () => {
  const { url } = await serve((_req, res) => res.end('ok'));
  const folder = folderWith(identify, url);
  const snapshot = loadSnapshot(join(folder, 'routes.yaml'));
  const ledger = Ledger.open(snapshot.usage, { clock: systemClock });
  const running = await startGateway(snapshot, { ledger });
  onTestFinished(async () => {
    await running.close();
    ledger.close();
  });
  const printed = new Set<string>();
  for (const [headers, by, input, shape] of calls) {
    await call(running.port, headers);
    const { code, stdout, stderr } = await tag(folder, [by], input);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.trim()).toMatch(shape);
    printed.add(stdout.trim());
  }
  await eventually(async () => {
    const answer = await fetch(`http://127.0.0.1:${running.adminPort}/api/usage?version=v1`);
    const { rows } = (await answer.json()) as { rows: { client: string }[] };
    expect(new Set(rows.map(({ client }) => client))).toEqual(printed);
  });
});

describe('reports an error', () => {
  /** A folder as a gateway leaves it after one run. */
  function usedFolder(identifier: string): string {
    const folder = folderWith([identifier]);
    Ledger.open(loadSnapshot(join(folder, 'routes.yaml')).usage, { clock: systemClock }).close();
    return folder;
  }

  it.each([
    [
      'x-api-kee',
      'k',
      /identify clients by header:x-api-kee\. {2}Choose an entry of usage\.identify: header:x-api-key/,
    ],
    ['x api key', 'k', /Write header:NAME, jwt:CLAIM, user-agent or address/],
    ['x-api-key', '\n', /Standard input is empty\. {2}Run version-gateway tag x-api-key < FILE/],
    ['x-api-key', 'k-1\nk-2\n', /several lines/],
    ['x-api-key', undefined, /read from standard input, which must not be a terminal/],
  ])('%s with %j', async (by, input, message) => {
    const { code, stdout, stderr } = await tag(usedFolder('header:x-api-key'), [by], input);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
  });

  it('for a token without the claim', async () => {
    const { code, stderr } = await tag(usedFolder('jwt:email'), ['jwt:email'], jwt);
    expect([code, stderr]).toEqual([2, expect.stringContaining('not a JWT, or its payload does not have this claim')]);
  });

  it('without a ledger, and without a routes.yaml', async () => {
    const none = await tag(folderWith(['header:x-api-key']), ['x-api-key'], 'k');
    expect([none.code, none.stderr]).toEqual([
      2,
      expect.stringMatching(/usage\.db cannot be read.*there is no such file.*first start/),
    ]);
    const nothing = await tag(temporaryFolder(), ['x-api-key'], 'k');
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining('routes.yaml')]);
  });

  it('with a faulty routes.yaml, as all commands that only read it', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'routes.yaml'), 'routes: { /v1: 7 }\n');
    const { code, stderr } = await tag(folder, ['x-api-key'], 'k');
    expect([code, stderr]).toEqual([2, expect.stringContaining('routes.yaml has faults and cannot be used')]);
  });

  it('with a ledger named by --store, and with a file that is not a ledger', async () => {
    const [one, other] = [usedFolder('header:x-api-key'), usedFolder('header:x-api-key')];
    const store = join(other, '.version-gateway', 'usage.db');
    const own = await tag(other, ['x-api-key'], 'k');
    expect(await tag(one, ['x-api-key', '--store', store], 'k')).toEqual(own);
    const { code, stderr } = await tag(one, ['x-api-key', '--store', 'routes.yaml'], 'k');
    expect([code, stderr]).toEqual([2, expect.stringContaining('cannot be read as a usage ledger')]);
  });
});
