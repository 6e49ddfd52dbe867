import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto';
import type { Server } from 'node:http';
import { Server as TlsServer } from 'node:tls';
import { digestOf } from '../../config/referencedFiles.ts';
import type { GatewaySettings } from '../../config/snapshot.ts';
import { watchFile } from '../../config/watch.ts';
import { readRegularFile } from '../../shared/fileSystem.ts';
import { messageOf } from '../../shared/text.ts';

/** `gateway.tls`; undefined: clients connect without TLS. */
type TlsSettings = GatewaySettings['tls'];

interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

// Certificate and key are two files that are replaced one after the other. They do not match until both are replaced.
// So a fault is only reported if it lasts this long.
const reportDelayMs = 2000;

/** @throws an error with a readable message if a file cannot be read, or the key does not match the certificate. */
export function readKeyPair({ cert: certFile, key: keyFile }: NonNullable<TlsSettings>): KeyPair {
  const cert = readRegularFile(certFile);
  const key = readRegularFile(keyFile);
  const certificate = parse(() => new X509Certificate(cert), `${certFile} holds no certificate in PEM form`);
  const privateKey = parse(
    () => createPrivateKey(key),
    `${keyFile} holds no private key in PEM form without a passphrase`,
  );
  // OpenSSL checks this only for keys of the same kind: it would accept an RSA certificate with an EC key, and fail later.
  if (!certificate.checkPrivateKey(privateKey)) throw new Error(`${keyFile} is not the key of ${certFile}`);
  return { cert, key };
}

/**
 * Replaces the certificate of `server` whenever the files change. Open connections keep theirs. If the new pair cannot be
 * used, the old one stays and `report` gets one line. Returns a function that stops watching.
 */
export function followCertificate(server: Server, tls: TlsSettings, report: (line: string) => void): () => void {
  if (!tls || !(server instanceof TlsServer)) return () => {};
  let inUse: KeyPair | undefined;
  let reportTimer: NodeJS.Timeout | undefined;
  const reload = (): void => {
    clearTimeout(reportTimer);
    try {
      const pair = readKeyPair(tls);
      if (inUse?.cert.equals(pair.cert) && inUse.key.equals(pair.key)) return;
      // Otherwise Node would return to the ticket keys of the start.
      server.setSecureContext({ ...pair, ticketKeys: server.getTicketKeys() });
      inUse = pair;
    } catch (error) {
      const line = `The TLS certificate is not replaced: ${oneLine(error)}. The former one stays in use.`;
      reportTimer = setTimeout(() => report(line), reportDelayMs).unref();
    }
  };
  // The files may have changed since the server read them.
  reload();
  const watches = [
    watchFile(tls.cert, reload, { lastReadDigest: inUse && digestOf(inUse.cert) }),
    watchFile(tls.key, reload, { lastReadDigest: inUse && digestOf(inUse.key) }),
  ];
  return () => {
    clearTimeout(reportTimer);
    for (const watch of watches) watch.close();
  };
}

/** How long the same keys encrypt session tickets, ms. */
const ticketKeysMs = 12 * 3_600_000;

/** Keys that encrypt the session tickets of a listener. */
export function newTicketKeys(): Buffer {
  return randomBytes(48);
}

/**
 * Calls `use` with new ticket keys every 12 hours: anybody who gets the keys can decrypt recorded connections of TLS 1.2. Node
 * accepts only tickets of the current keys, so earlier sessions are not resumed. Returns a function that stops the rotation.
 */
export function rotateTicketKeys(use: (keys: Buffer) => void, everyMs: number = ticketKeysMs): () => void {
  const timer = setInterval(() => use(newTicketKeys()), everyMs).unref();
  return () => clearInterval(timer);
}

/** Tickets of the former keys are no longer accepted. Open connections are not affected. */
export function setTicketKeys(server: Server, keys: Buffer): void {
  if (server instanceof TlsServer) server.setTicketKeys(keys);
}

function parse<T>(read: () => T, message: string): T {
  try {
    return read();
  } catch (error) {
    throw new Error(message, { cause: error });
  }
}

function oneLine(error: unknown): string {
  return messageOf(error).replace(/\s+/g, ' ');
}
