import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Server } from 'node:http';
import { Server as TlsServer } from 'node:tls';
import { digestOf } from '../config/namedFiles.ts';
import type { GatewaySettings } from '../config/snapshot.ts';
import { watchFile } from '../config/watch.ts';
import { readRegularFile } from '../shared/fileSystem.ts';

/** What `gateway.tls` says; undefined: clients speak in the clear. */
type TlsSettings = GatewaySettings['tls'];

export interface KeyPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

// Certificate and key are two files, and one of them is replaced first. Only a pair that stays unfit is worth a word.
const patienceMs = 2000;

/** @throws an error with a message for people when one cannot be read, or they do not belong together. */
export function readKeyPair({ cert: certFile, key: keyFile }: NonNullable<TlsSettings>): KeyPair {
  const cert = readRegularFile(certFile);
  const key = readRegularFile(keyFile);
  const certificate = parse(() => new X509Certificate(cert), `${certFile} holds no certificate in PEM form`);
  const privateKey = parse(
    () => createPrivateKey(key),
    `${keyFile} holds no private key in PEM form without a passphrase`,
  );
  // OpenSSL finds this only where both are of one kind: an RSA certificate and an EC key would be served, and fail.
  if (!certificate.checkPrivateKey(privateKey)) throw new Error(`${keyFile} is not the key of ${certFile}`);
  return { cert, key };
}

/**
 * Has `server` use the pair that the files hold, whenever they change; connections that stand keep theirs. What cannot be
 * used leaves the former pair in place, and `report` gets one line about it. Returns how to stop.
 */
export function followCertificate(server: Server, tls: TlsSettings, report: (line: string) => void): () => void {
  if (!tls || !(server instanceof TlsServer)) return () => {};
  let used: KeyPair | undefined;
  let complaint: NodeJS.Timeout | undefined;
  const take = (): void => {
    clearTimeout(complaint);
    try {
      const pair = readKeyPair(tls);
      if (used?.cert.equals(pair.cert) && used.key.equals(pair.key)) return;
      server.setSecureContext(pair);
      used = pair;
    } catch (error) {
      const line = `The TLS certificate is not replaced: ${oneLine(error)}. The former one stays in use.`;
      complaint = setTimeout(() => report(line), patienceMs).unref();
    }
  };
  // The files may have changed since the server read them.
  take();
  const watches = [
    watchFile(tls.cert, take, { lastRead: used && digestOf(used.cert) }),
    watchFile(tls.key, take, { lastRead: used && digestOf(used.key) }),
  ];
  return () => {
    clearTimeout(complaint);
    for (const watch of watches) watch.close();
  };
}

function parse<T>(read: () => T, message: string): T {
  try {
    return read();
  } catch (error) {
    throw new Error(message, { cause: error });
  }
}

function oneLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ');
}
