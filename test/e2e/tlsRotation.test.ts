import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { digestOf } from '../../gateway/config/referencedFiles.ts';
import { watchFile } from '../../gateway/config/watch.ts';
import { DataPlane } from '../../gateway/process/runtime/dataPlane.ts';
import { startGateway } from '../../gateway/process/runtime/gateway.ts';
import {
  followCertificate,
  newTicketKeys,
  readKeyPair,
  setTicketKeys,
} from '../../gateway/proxy/pipeline/certificate.ts';
import { closeListener, createClientListener, listen, portOf } from '../../gateway/proxy/pipeline/clientListener.ts';
import { temporaryFolder } from '../config/temporary.ts';
import { startBackend } from '../support/backend.ts';
import { connectSecurely, isResumed, makePair, nameAt, newSession, type Pair } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { get, RawClient } from '../support/rawClient.ts';

let one: Pair;
let two: Pair;
let rsa: Pair;

beforeAll(() => {
  const folder = temporaryFolder();
  one = makePair(folder, 'one');
  two = makePair(folder, 'two');
  rsa = makePair(folder, 'rsa', 'rsa');
});

/** Replaces a file by a rename, as certificate tools do. */
function replace(file: string, content: Buffer | string): void {
  writeFileSync(`${file}.new`, content);
  renameSync(`${file}.new`, file);
}

/** Replaces a file, and waits until a watch that began after that of the listener has seen it. */
async function replaceAlone(file: string, content: Buffer): Promise<void> {
  const seen = Promise.withResolvers<void>();
  const watch = watchFile(file, () => seen.resolve(), { lastReadDigest: digestOf(readFileSync(file)) });
  onTestFinished(() => watch.close());
  replace(file, content);
  await seen.promise;
}

function write(files: { cert: string; key: string }, pair: Pair): void {
  writeFileSync(files.cert, pair.cert);
  writeFileSync(files.key, pair.key);
}

function filesIn(folder: string): { cert: string; key: string } {
  return { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
}

/** A listener with the certificate `one` that follows its files. */
async function following(files = filesIn(temporaryFolder()), begin: () => void = () => write(files, one)) {
  begin();
  const backend = await startBackend();
  const tls = { ...files, hsts: false };
  const snapshot = snapshotFrom({ routes: { '/v1': backend.url }, gateway: { listen: '127.0.0.1:0', tls } });
  const dataPlane = new DataPlane(snapshot);
  const { context } = dataPlane;
  const front = createClientListener(snapshot.gateway, context);
  const lines: string[] = [];
  const stop = followCertificate(front, snapshot.gateway.tls, (line) => lines.push(line));
  await listen(front, snapshot.gateway.listen);
  onTestFinished(async () => {
    stop();
    dataPlane.close();
    await closeListener(front);
  });
  const port = portOf(front);
  expect(await nameAt(port)).toBe('one');
  return { files, front, lines, port, stop };
}

/** Waits until new connections get the certificate `name`. */
function shows(port: number, name: string): Promise<void> {
  return eventually(async () => expect(await nameAt(port)).toBe(name));
}

describe('new connections get a certificate that was replaced', () => {
  it.each<[string, (files: { cert: string; key: string }) => Promise<void> | void]>([
    ['in place', (files) => write(files, two)],
    [
      'by renames, the certificate first and the key a moment later',
      async ({ cert, key }) => {
        await replaceAlone(cert, two.cert);
        replace(key, two.key);
      },
    ],
    [
      'by renames, the key first',
      async ({ cert, key }) => {
        await replaceAlone(key, two.key);
        replace(cert, two.cert);
      },
    ],
  ])('%s', async (_name, edit) => {
    const { files, lines, port } = await following();
    await edit(files);
    await shows(port, 'two');
    // A report of the pair that did not match for a moment would come before this one.
    replace(files.cert, 'nonsense\n');
    await eventually(() => expect(lines).not.toEqual([]));
    expect(lines).toEqual([expect.stringContaining('holds no certificate in PEM form')]);
  });

  it('by a symbolic link, as Kubernetes does it', async () => {
    const folder = temporaryFolder();
    const { lines, port } = await following(filesIn(folder), () => {
      for (const [name, pair] of [
        ['..1', one],
        ['..2', two],
      ] as const) {
        mkdirSync(join(folder, name));
        write(filesIn(join(folder, name)), pair);
      }
      symlinkSync('..1', join(folder, '..data'));
      for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(folder, name));
    });
    symlinkSync('..2', join(folder, '..next'));
    renameSync(join(folder, '..next'), join(folder, '..data'));
    await shows(port, 'two');
    expect(lines).toEqual([]);
  });

  it('with a key of another type, and a chain', async () => {
    const { files, port } = await following();
    replace(files.cert, Buffer.concat([rsa.cert, two.cert]));
    replace(files.key, rsa.key);
    await shows(port, 'rsa');
  });

  it('while open connections continue, and ALPN still selects a protocol', async () => {
    const { files, port } = await following();
    const socket = await connectSecurely(port);
    const client = new RawClient(socket);
    client.send(get('/v1/x'));
    expect((await client.response()).status).toBe(200);
    write(files, two);
    await shows(port, 'two');
    client.send(get('/v1/x'));
    expect((await client.response()).status).toBe(200);
    expect(socket.getPeerCertificate().subject.CN).toBe('one');
    expect((await connectSecurely(port, ['h2', 'http/1.1'])).alpnProtocol).toBe('h2');
    expect((await connectSecurely(port, ['http/1.1'])).alpnProtocol).toBe('http/1.1');
  });

  it('until the listener stops following the files', async () => {
    const { files, port, stop } = await following();
    const other = await following(files);
    stop();
    write(files, two);
    await shows(other.port, 'two');
    expect(await nameAt(port)).toBe('one');
  });
});

describe('an unusable pair leaves the previous one in use, and is reported in one line', () => {
  it.each<[string, (files: { cert: string; key: string }) => void, (files: { cert: string; key: string }) => string]>([
    [
      'a certificate of another key',
      ({ cert }) => replace(cert, two.cert),
      ({ cert, key }) => `${key} is not the key of ${cert}`,
    ],
    [
      'a key of another kind',
      ({ key }) => replace(key, rsa.key),
      ({ cert, key }) => `${key} is not the key of ${cert}`,
    ],
    [
      'no certificate',
      ({ cert }) => replace(cert, 'nonsense\n'),
      ({ cert }) => `${cert} holds no certificate in PEM form`,
    ],
    ['an empty certificate', ({ cert }) => replace(cert, ''), ({ cert }) => `${cert} holds no certificate in PEM form`],
    ['no key', ({ key }) => replace(key, two.cert), ({ key }) => `${key} holds no private key in PEM form`],
    [
      'a key that is gone',
      ({ cert, key }) => {
        rmSync(key);
        replace(cert, two.cert);
      },
      ({ key }) => key,
    ],
  ])('%s', async (_name, edit, expected) => {
    const { files, lines, port } = await following();
    edit(files);
    await eventually(() => expect(lines).toHaveLength(1));
    expect(lines[0]).toContain(expected(files));
    expect(lines[0]).toMatch(/^The TLS certificate is not replaced: [^\n]+\. The former one stays in use\.$/);
    expect(await nameAt(port)).toBe('one');
    // A valid pair is still used afterwards.
    replace(files.cert, two.cert);
    replace(files.key, two.key);
    await shows(port, 'two');
    expect(lines).toHaveLength(1);
  });
});

it('the gateway does not start with a pair that does not match, and gives the reason', () => {
  const files = filesIn(temporaryFolder());
  writeFileSync(files.cert, one.cert);
  writeFileSync(files.key, two.key);
  const snapshot = snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:1' }, gateway: { tls: files } });
  const dataPlane = new DataPlane(snapshot);
  const { context } = dataPlane;
  onTestFinished(() => dataPlane.close());
  expect(() => createClientListener(snapshot.gateway, context)).toThrow(`${files.key} is not the key of ${files.cert}`);
  writeFileSync(files.key, one.key);
  expect(readKeyPair({ ...files, hsts: false })).toEqual(one);
});

it('without TLS no file is followed', () => {
  const report = vi.fn();
  followCertificate(createServer(), undefined, report)();
  expect(report).not.toHaveBeenCalled();
});

describe('a TLS session', () => {
  it('is resumed until the ticket keys change, also after a new certificate', async () => {
    const { files, front, port } = await following();
    const first = await newSession(port);
    expect(await isResumed(port, first)).toBe(true);
    setTicketKeys(front, newTicketKeys());
    expect(await isResumed(port, first)).toBe(false);
    const second = await newSession(port);
    write(files, two);
    await shows(port, 'two');
    expect(await isResumed(port, first)).toBe(false);
    expect(await isResumed(port, second)).toBe(true);
  });

  it('is not resumed once the gateway has replaced the ticket keys', async () => {
    const files = filesIn(temporaryFolder());
    write(files, one);
    const backend = await startBackend();
    const gateway = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', tls: { ...files, hsts: false } };
    const running = await startGateway(snapshotFrom({ routes: { '/v1': backend.url }, gateway }), { ticketKeysMs: 50 });
    onTestFinished(() => running.close());
    const session = await newSession(running.port);
    const check = async () => expect(await isResumed(running.port, session)).toBe(false);
    await eventually(check);
  });
});
