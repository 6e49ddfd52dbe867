import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';

export interface Pair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Creates a key of `kind` and its certificate with `CN=name` in `folder`. */
export function makePair(folder: string, name: string, kind: 'ec' | 'rsa' = 'ec'): Pair {
  const files = { cert: join(folder, `${name}.made.crt`), key: join(folder, `${name}.made.key`) };
  const newKey = kind === 'ec' ? ['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'] : ['rsa:2048'];
  const into = ['-keyout', files.key, '-out', files.cert, '-days', '2', '-subj', `/CN=${name}`];
  execFileSync('openssl', ['req', '-x509', '-nodes', '-newkey', ...newKey, ...into], { stdio: 'ignore' });
  return { cert: readFileSync(files.cert), key: readFileSync(files.key) };
}

/** A private certificate authority. */
export interface Authority {
  /** Its own certificate, in PEM. */
  readonly cert: string;
  /** Issues a certificate for a host name. Returns it with its key, in PEM. */
  issue(host: string): { readonly cert: string; readonly key: string };
}

/** Creates a certificate authority in a folder, whose files begin with its name. */
export function makeAuthority(folder: string, name: string): Authority {
  makePair(folder, name);
  const [ca, caKey] = [join(folder, `${name}.made.crt`), join(folder, `${name}.made.key`)];
  return {
    cert: readFileSync(ca, 'utf8'),
    issue: (host) => {
      const files = { cert: join(folder, `${name}.${host}.crt`), key: join(folder, `${name}.${host}.key`) };
      const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', files.key];
      const subject = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`];
      const args = [
        'req',
        '-x509',
        '-CA',
        ca,
        '-CAkey',
        caKey,
        '-days',
        '2',
        ...newKey,
        ...subject,
        '-out',
        files.cert,
      ];
      execFileSync('openssl', args, { stdio: 'ignore' });
      return { cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') };
    },
  };
}

/** Opens a TLS connection without checking the certificate; closed at the end of the test. */
export async function connectSecurely(port: number, ALPNProtocols: string[] = ['http/1.1']): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols });
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, 'secureConnect');
  return socket;
}

/** Whether the server resumes the TLS session of an earlier connection. */
export async function isResumed(port: number, session: Buffer): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, session });
  await once(socket, 'secureConnect');
  const result = socket.isSessionReused();
  socket.destroy();
  return result;
}

/** A TLS session that the server on `port` can resume. */
export async function newSession(port: number): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  const [session]: Buffer[] = await once(socket, 'session');
  socket.destroy();
  return session as Buffer;
}

/** The CN of the certificate that the server on `port` presents. */
export async function nameAt(port: number): Promise<string> {
  const socket = await connectSecurely(port);
  const name = String(socket.getPeerCertificate().subject.CN);
  socket.destroy();
  return name;
}
