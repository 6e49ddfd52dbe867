import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runToEnd, temporaryFolder } from './children.ts';

/** The paths of PEM files. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** The certificate and the key in one file, as HAProxy needs them. */
  readonly certAndKey: string;
}

/** Creates a certificate for 127.0.0.1 with an ECDSA key on P-256. */
export async function createCertificate(): Promise<Certificate> {
  const folder = temporaryFolder();
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem'), certAndKey: join(folder, 'both.pem') };
  const curve = ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  await runToEnd({ program: 'openssl', args: ['genpkey', ...curve, '-out', files.key] }, 'onAnyCore');
  const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const args = ['req', '-x509', '-days', '2', '-key', files.key, ...names, '-out', files.cert];
  await runToEnd({ program: 'openssl', args }, 'onAnyCore');
  writeFileSync(files.certAndKey, readFileSync(files.cert, 'utf8') + readFileSync(files.key, 'utf8'));
  return files;
}
