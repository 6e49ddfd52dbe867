import type { ConnectionOptions } from 'node:tls';
import type { FleetSettings } from '../../config/snapshot.ts';
import { type StoreFileParameter, storeFiles, storeParameters, unusedFilesProblem } from '../../config/storeUrl.ts';
import { certificatesProblem } from '../../shared/certificates.ts';
import { readRegularFile, reasonOf } from '../../shared/fileSystem.ts';

type StoreSettings = Pick<FleetSettings, 'store' | 'passwordFile'>;

/** What a connection to the store needs, with the content of all files. */
export interface StoreAccess {
  /** Names no file. */
  readonly connectionString: string;
  /** Absent: the URL says it. */
  readonly ssl?: ConnectionOptions;
}

const tlsOptions = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' } as const satisfies Record<
  StoreFileParameter,
  keyof ConnectionOptions
>;

/** Whether a connection needs a file. */
export function needsFiles({ store, passwordFile }: StoreSettings): boolean {
  return passwordFile !== undefined || storeFiles(store).length > 0;
}

/**
 * Reads the files with the password and the certificates.
 * @throws Error whose message names the setting and the file, but not the URL
 */
export function readStoreAccess({ store, passwordFile }: StoreSettings): StoreAccess {
  const { address, parameters } = storeParameters(store);
  // As a parameter, because not every form of the URL has a place for a password that the class URL knows.
  if (passwordFile !== undefined) parameters.set('password', readPassword(passwordFile));
  const files = storeFiles(store);
  if (files.length === 0) {
    const query = String(parameters);
    return { connectionString: query === '' ? address : `${address}?${query}` };
  }
  const unused = unusedFilesProblem(store);
  if (unused !== undefined) throw new Error(`the URL of the store: ${unused.message}  ${unused.remedy}`);
  const ssl = Object.fromEntries(files.map(({ parameter, file }) => [tlsOptions[parameter], readPem(parameter, file)]));
  for (const { parameter } of files) parameters.delete(parameter);
  for (const name of ['sslmode', 'ssl']) parameters.delete(name);
  return { connectionString: `${address}?${parameters}`, ssl };
}

function readPassword(file: string): string {
  const password = read(file, 'fleet.password_file').trim();
  if (password === '') throw new Error(`fleet.password_file: ${file} is empty.  Write the password into it`);
  return password;
}

function readPem(parameter: StoreFileParameter, file: string): string {
  const setting = `${parameter} in the URL of the store`;
  const pem = read(file, setting);
  const problem = parameter === 'sslkey' ? undefined : certificatesProblem(pem);
  if (problem !== undefined)
    throw new Error(`${setting}: ${file} ${problem}.  Name a file with certificates in PEM form`);
  return pem;
}

function read(file: string, setting: string): string {
  try {
    return readRegularFile(file).toString('utf8');
  } catch (error) {
    throw new Error(`${setting}: ${file} cannot be read: ${reasonOf(error)}`);
  }
}
