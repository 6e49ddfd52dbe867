import { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Postgres } from '../../../gateway/operate/fleet/postgres.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { type Authority, makeAuthority } from '../../support/certificates.ts';
import { eventually } from '../../support/eventually.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { ask, startFleetGateway, startProcess, writeMountedRoutes } from './fleetGateway.ts';
import { query } from './startMember.ts';

// A store with a certificate of a private CA, and with a password.

const routes = { '/v1': 'http://127.0.0.1:1' };

let authority: Authority;
let otherAuthority: Authority;
let server: PostgresServer;
beforeAll(async () => {
  const folder = temporaryFolder();
  authority = makeAuthority(folder, 'ca');
  otherAuthority = makeAuthority(folder, 'other');
  server = await startPostgres({
    tls: authority.issue('localhost'),
    // The tests create databases and roles without a password.
    access: [
      'host postgres gateway 127.0.0.1/32 trust',
      'hostssl all all 127.0.0.1/32 scram-sha-256',
      'hostnossl all all 127.0.0.1/32 reject',
    ],
  });
});
afterAll(() => server.stop());

const administer = (sql: string) => query(`postgres://gateway@127.0.0.1:${server.port}/postgres`, sql);

/** A new database whose owner is a new role with this password. Without parameters for TLS. */
async function databaseOf(role: string, password: string): Promise<string> {
  const name = (await server.database()).replace(/^.*\//, '');
  await administer(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
  await administer(`ALTER DATABASE ${name} OWNER TO ${role}`);
  return `postgres://${role}@localhost:${server.port}/${name}`;
}

function fileIn(folder: string, name: string, content: string): string {
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
}

async function failureOf(store: string, passwordFile: string | undefined): Promise<string> {
  const sql = await Postgres.open({ store, passwordFile });
  try {
    return await sql.query('SELECT 1').then(() => 'none', String);
  } finally {
    await sql.close();
  }
}

describe('the certificate of the store', () => {
  let store: string;
  let passwordFile: string;
  let ca: string;
  beforeAll(async () => {
    const folder = temporaryFolder();
    store = await databaseOf('verifier', 'first');
    passwordFile = fileIn(folder, 'password', 'first\n');
    ca = fileIn(folder, 'ca.pem', authority.cert);
  });

  it.each(['sslmode=verify-full&', ''])('is accepted with the CA in sslrootcert (%s)', async (mode) => {
    expect(await failureOf(`${store}?${mode}sslrootcert=${ca}`, passwordFile)).toBe('none');
  });

  it('keeps other parameters of the URL', async () => {
    const parameters = `application_name=${encodeURIComponent('gw 1 & 2')}&sslrootcert=${encodeURIComponent(ca)}`;
    const sql = await Postgres.open({ store: `${store}?${parameters}`, passwordFile });
    expect(await sql.query(`SELECT current_setting('application_name') AS name`)).toEqual([{ name: 'gw 1 & 2' }]);
    await sql.close();
  });

  it('is refused without its CA, and the reason names the remedy', async () => {
    expect(await failureOf(`${store}?sslmode=verify-full`, passwordFile)).toMatch(
      /^StoreError: its certificate is not signed by a known CA \(.*\)\. {2}For a private CA, add its file to the URL of the store: sslrootcert=\/path\/ca\.pem$/,
    );
  });

  it('is refused with another CA', async () => {
    const other = fileIn(temporaryFolder(), 'ca.pem', otherAuthority.cert);
    expect(await failureOf(`${store}?sslmode=verify-full&sslrootcert=${other}`, passwordFile)).toContain(
      'its certificate is not signed by a known CA',
    );
  });

  it('is refused for another host name, and the reason names both', async () => {
    const failure = await failureOf(`${store.replace('localhost', '127.0.0.1')}?sslrootcert=${ca}`, passwordFile);
    expect(failure).toMatch(
      /^StoreError: its certificate is for another host name: IP: 127\.0\.0\.1 is not in the cert's list: {3}Write a name of the certificate into the URL of the store$/,
    );
  });

  it.each([
    ['a file that is missing', undefined, /ca\.pem cannot be read: there is no such file$/],
    ['a file without a certificate', 'nothing', /ca\.pem holds no certificate in PEM form\./],
    [
      'a damaged certificate',
      '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n',
      /ca\.pem holds a damaged certificate \(number 1 of 1\)\./,
    ],
  ])('cannot be verified with %s', async (_name, content, reason) => {
    const file = join(temporaryFolder(), 'ca.pem');
    if (content !== undefined) writeFileSync(file, content);
    await expect(Postgres.open({ store: `${store}?sslrootcert=${file}`, passwordFile })).rejects.toThrow(reason);
    await expect(Postgres.open({ store: `${store}?sslrootcert=${file}`, passwordFile })).rejects.toThrow(
      /^sslrootcert in the URL of the store: /,
    );
  });

  it('is checked by commands with --store, whose URL names a file from the working folder', async () => {
    const folder = temporaryFolder();
    copyFileSync(ca, join(folder, 'ca.pem'));
    const url = store.replace('verifier@', 'verifier:first@');
    const asked = await runIn(folder, ['fleet', '--store', `${url}?sslmode=verify-full&sslrootcert=ca.pem`]);
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('no gateway has used this database yet') });
    const missing = await runIn(folder, ['fleet', '--store', `${url}?sslrootcert=missing.pem`]);
    expect(missing).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('missing.pem cannot be read: there is no such file'),
    });
    expect(missing.stderr).not.toContain('first');
    const usage = await runIn(folder, ['usage', '--store', `${url}?sslrootcert=missing.pem`]);
    expect(usage).toMatchObject({ code: 2, stderr: expect.stringContaining(`${folder}/missing.pem cannot be read`) });
  });
});

describe('a gateway', () => {
  it('reads sslrootcert beside its routes.yaml, and does not start without it', async () => {
    const store = await databaseOf('beside', 'first');
    const folder = temporaryFolder();
    const tls = `${store}?sslmode=verify-full&sslrootcert=tls/ca.pem`;
    const fleet = { password_file: 'password', start: 'wait' };
    fileIn(folder, 'password', 'first');
    writeMountedRoutes(folder, { store: tls, name: 'gw-1', routes, fleet });
    const refused = startProcess(folder);
    await refused.printed(
      /routes\.yaml:\d+:\d+ {2}fleet\.store\n {2}tls\/ca\.pem cannot be read: there is no such file\. {2}Correct the path\./,
    );
    mkdirSync(join(folder, 'tls'));
    fileIn(folder, 'tls/ca.pem', otherAuthority.cert);
    const waiting = startProcess(folder);
    await waiting.printed(/The shared store of the fleet cannot be used: its certificate is not signed by a known CA/);
    await waiting.printed(/This gateway serves no clients before it has reached the shared store/);
    // The file is read again, so nothing has to be restarted.
    replaceFile(join(folder, 'tls/ca.pem'), authority.cert);
    await waiting.printed(/listens on/);
  });

  it('uses a replaced CA and a replaced password without a restart, in all its threads', async () => {
    const store = await databaseOf('rotating', 'first');
    const folder = temporaryFolder();
    const passwordFile = fileIn(folder, 'password', 'first\n');
    const ca = fileIn(folder, 'ca.pem', authority.cert);
    const fleet = { password_file: 'password' };
    const gateway = await startFleetGateway({
      store: `${store}?sslrootcert=ca.pem`,
      name: 'gw-1',
      routes,
      fleet,
      folder,
    });
    // Opens the connection of the thread that answers queries.
    const usage = () => ask(gateway, 'usage');
    await eventually(async () => expect(await usage()).toMatchObject({ code: 0, stderr: '' }));
    onTestFinished(() => server.replaceCertificate(authority.issue('localhost')));

    // Both CAs are trusted while the certificate is replaced.
    replaceFile(ca, authority.cert + otherAuthority.cert);
    server.replaceCertificate(otherAuthority.issue('localhost'));
    await administer(`ALTER ROLE rotating PASSWORD 'second'`);
    await cutConnections('rotating');
    // A query that ran when its connection was cut fails for that reason, and only the first reason is printed.
    await gateway.printed(/The shared store of the fleet cannot be used: /);
    await eventually(async () =>
      expect((await usage()).stdout).toMatch(/password authentication failed for user "rotating"/),
    );
    replaceFile(passwordFile, 'second\n');
    await gateway.printed(/The shared store of the fleet answers again/);
    await eventually(async () => expect(await usage()).toMatchObject({ code: 0, stderr: '' }));
    await eventually(async () => expect((await ask(gateway, 'fleet')).stdout).toMatch(/gw-1 +heard/));
    await eventually(async () => expect(await backendsOf('rotating')).toBeGreaterThan(0));
  });

  it('keeps the last password while its file cannot be read, and names the file if the password is refused', async () => {
    const store = await databaseOf('keeping', 'first');
    const folder = temporaryFolder();
    const passwordFile = fileIn(folder, 'password', 'first\n');
    const ca = fileIn(folder, 'ca.pem', authority.cert);
    const sql = await Postgres.open({ store: `${store}?sslrootcert=${ca}`, passwordFile }, { connections: 1 });
    onTestFinished(() => sql.close());
    await sql.query('SELECT 1');
    rmSync(passwordFile);
    rmSync(ca);
    await cutConnections('keeping');
    await eventually(async () => expect(await sql.query('SELECT 1 AS one')).toEqual([{ one: 1 }]));
    await administer(`ALTER ROLE keeping PASSWORD 'second'`);
    await cutConnections('keeping');
    await eventually(async () =>
      expect(await sql.query('SELECT 1').catch(String)).toMatch(
        /password authentication failed for user "keeping"; and fleet\.password_file: .*password cannot be read: there is no such file/,
      ),
    );
    writeFileSync(passwordFile, '');
    await expect(sql.query('SELECT 1')).rejects.toThrow(/password is empty\. {2}Write the password into it/);
  });
});

/** As the kubelet replaces a mounted file: in one step. */
function replaceFile(file: string, content: string): void {
  writeFileSync(`${file}.new`, content);
  renameSync(`${file}.new`, file);
}

async function cutConnections(role: string): Promise<void> {
  await administer(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`);
}

async function backendsOf(role: string): Promise<number> {
  const [row] = await administer(`SELECT count(*)::int AS number FROM pg_stat_activity WHERE usename = '${role}'`);
  return Number((row as { number: number } | undefined)?.number);
}
