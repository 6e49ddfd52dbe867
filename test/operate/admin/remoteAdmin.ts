import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { createAdmin } from '../../../gateway/operate/admin/app.ts';
import { idleOperations, idleStatus } from '../../support/idleOperations.ts';
import { serve } from '../discovery/server.ts';

export const token = 'correct-horse-battery-staple';
export const start = Date.parse('2026-11-21T10:00:00Z');
export const host = 'gateway.example:9901';
export const origin = `http://${host}`;

/** An admin listener whose requests all come from other machines. */
export async function startRemoteAdmin() {
  const state = {
    now: start,
    ready: true,
    token: token as string | undefined,
    address: '10.0.0.9',
    reloads: 0,
    generation: 1,
    proxies: [] as readonly string[],
  };
  const source = {
    get current() {
      const token = state.token === undefined ? {} : { admin_token: state.token };
      const gateway = { ...token, trusted_proxies: state.proxies };
      return snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:3001' }, gateway });
    },
  };
  const listener = createAdmin(
    source,
    { ready: () => state.ready },
    idleOperations({
      configuration: {
        reload: async () => {
          state.reloads += 1;
          return { kind: 'unchanged' };
        },
        get status() {
          const { generation } = state;
          return { ...idleStatus, generation };
        },
      },
      clock: { now: () => state.now },
    }),
  );
  const { port } = await serve((req, res) => {
    Object.defineProperty(req.socket, 'remoteAddress', { value: state.address, configurable: true });
    listener(req, res);
  });
  const open = async (method: string, path: string, headers: Record<string, string> = {}, body = '') => {
    const outgoing = request({ port, host: '127.0.0.1', method, path, headers: { host, ...headers }, agent: false });
    outgoing.end(body);
    const [incoming] = await once(outgoing, 'response');
    return incoming;
  };
  const ask = async (...of: Parameters<typeof open>) => {
    const incoming = await open(...of);
    return { status: incoming.statusCode, headers: incoming.headers, body: await text(incoming) };
  };
  const logIn = (given = token, headers: Record<string, string> = {}) => {
    const form = { 'content-type': 'application/x-www-form-urlencoded', origin };
    return ask('POST', '/login', { ...form, ...headers }, `username=operator&token=${encodeURIComponent(given)}`);
  };
  const cookie = async () => String((await logIn()).headers['set-cookie']?.[0]).replace(/;.*/, '');
  return { state, open, ask, logIn, cookie };
}
