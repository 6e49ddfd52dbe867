import { resolve } from 'node:path';

// `fleet.store` is a URL of PostgreSQL. Its parameters may name files for TLS, as those of libpq do.

const fileParameters = ['sslrootcert', 'sslcert', 'sslkey'] as const;
export type StoreFileParameter = (typeof fileParameters)[number];

/** The parameters of the URL. All characters before them stay as they are: the user and the host may be written in several forms. */
export function storeParameters(store: string): { readonly address: string; readonly parameters: URLSearchParams } {
  const [address = '', ...query] = store.split('?');
  return { address, parameters: new URLSearchParams(query.join('?')) };
}

/** The files that the URL names. */
export function storeFiles(store: string): { readonly parameter: StoreFileParameter; readonly file: string }[] {
  const { parameters } = storeParameters(store);
  return fileParameters.flatMap((parameter) => {
    const file = parameters.get(parameter);
    return file ? [{ parameter, file }] : [];
  });
}

/** The same URL with absolute paths. `folder`: of the file that has the URL. */
export function withAbsoluteFiles(store: string, folder: string): string {
  const files = storeFiles(store);
  if (files.length === 0) return store;
  const { address, parameters } = storeParameters(store);
  for (const { parameter, file } of files) parameters.set(parameter, resolve(folder, file));
  return `${address}?${parameters}`;
}

// With a CA of its own, the server is always verified, with its host name. `pg` does the same for all of these modes.
const verifyingModes = ['prefer', 'require', 'verify-ca', 'verify-full'];

/** Why the files of the URL would not be used, with the remedy; undefined: they are. */
export function unusedFilesProblem(store: string): { readonly message: string; readonly remedy: string } | undefined {
  const [first] = storeFiles(store);
  if (first === undefined) return undefined;
  const { parameters } = storeParameters(store);
  const mode = parameters.get('sslmode') ?? 'verify-full';
  if (parameters.has('uselibpqcompat'))
    return {
      message: `uselibpqcompat cannot be used with ${first.parameter}.`,
      remedy: 'Remove uselibpqcompat from the URL.',
    };
  if (verifyingModes.includes(mode)) return undefined;
  const message = `${first.parameter} has no effect, because with this sslmode the server is not verified.`;
  return { message, remedy: 'Write sslmode=verify-full.' };
}
