import { isIPv6 } from 'node:net';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { printable, UnreadableFileError } from '../config/fault.ts';
import { adminAddressIn, decode, readRoutes } from '../config/load.ts';
import { UnansweredError } from './admin.ts';
import { usualConfig } from './configOption.ts';
import type { Io } from './io.ts';

/** Which running gateway to ask. */
export interface AdminTarget {
  readonly origin: string;
  /** The origin, and where it was found if nobody named it: `http://127.0.0.1:9901 (the default)`. */
  readonly name: string;
  /** '' for none. */
  readonly token: string;
}

export interface TargetOptions {
  /** An origin. */
  readonly admin?: string;
  readonly config?: string;
}

/** `--admin`, and `--config` for who does not know it by heart. */
export function addTargetOptions(command: Command): Command {
  return addAdminOption(command).option(
    '--config <file>',
    `the routes.yaml that gateway.admin and admin_token are read from (default: routes.yaml or config/routes.yaml, if there is one)`,
  );
}

export function addAdminOption(command: Command): Command {
  return command.option(
    '--admin <host:port>',
    'the admin listener of the running gateway; ADMIN_TOKEN is its token (default: gateway.admin of --config, else 127.0.0.1:9901)',
    originOf,
  );
}

/** A token of the file goes nowhere but to the address of the file. @throws UnansweredError, UnreadableFileError */
export function targetOf({ admin, config }: TargetOptions, io: Pick<Io, 'env' | 'cwd' | 'stderr'>): AdminTarget {
  const { env, cwd, stderr } = io;
  const token = (env['ADMIN_TOKEN'] ?? '').trim();
  if (admin !== undefined) return { origin: admin, name: admin, token };
  const origin = 'http://127.0.0.1:9901';
  const file = config ?? usualConfig(cwd);
  if (file === undefined) return { origin, name: `${origin} (the default)`, token };
  const shown = printable(file);
  const address = addressIn(shown, resolve(cwd, file), env);
  if (address instanceof UnreadableFileError || typeof address === 'string') {
    const reason = address instanceof UnreadableFileError ? address.message : `${shown} ${reasons[address]}`;
    // A file that nobody named may be in the middle of an edit, just when somebody has to know how the gateway is.
    if (config === undefined && address !== 'unusable') {
      // Whoever answers there may be another gateway than the one that the file means.
      stderr.write(`Asking ${origin}, the default: ${reason}.\n`);
      return { origin, name: `${origin} (the default, as ${reason})`, token };
    }
    throw address instanceof UnreadableFileError
      ? address
      : new UnansweredError(`${reason}.  Name the gateway to ask with --admin host:port.`);
  }
  if (address === undefined)
    return { origin, name: `${origin} (the default, as ${shown} has no gateway.admin)`, token };
  const found = originOf(`${hostOf(address.host)}:${address.port}`);
  return { origin: found, name: `${found} (gateway.admin of ${shown})`, token: token === '' ? address.token : token };
}

const reasons = {
  broken: 'cannot be understood: version-gateway check says why',
  unusable: 'has no address in gateway.admin that could be asked',
};

function addressIn(shown: string, path: string, env: NodeJS.ProcessEnv) {
  try {
    return adminAddressIn(decode(readRoutes(path)) ?? '', env);
  } catch (error) {
    if (error instanceof UnreadableFileError) return new UnreadableFileError(shown, error.cause);
    throw error;
  }
}

/** Where all interfaces listen, the loopback one does. */
function hostOf(host: string): string {
  if (host === '' || host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return isIPv6(host) ? `[${host}]` : host;
}

function originOf(text: string): string {
  const written = /^https?:\/\//i.test(text) ? text : `http://${text}`;
  const hasPort = written !== `http://${text}` || /:\d{1,5}$/.test(text);
  const url = hasPort && URL.canParse(written) ? new URL(written) : undefined;
  if (!url || url.href !== `${url.origin}/` || url.port === '0')
    throw new InvalidArgumentError('Write host:port, or https://host:port.');
  return url.origin;
}
