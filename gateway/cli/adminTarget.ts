import { isIPv6 } from 'node:net';
import { type Command, InvalidArgumentError } from 'commander';
import { UnreadableFileError } from '../config/fault.ts';
import { adminAddressIn, decode, readRoutes } from '../config/load.ts';
import { printable } from '../shared/text.ts';
import { AdminError, type AdminTarget } from './adminClient.ts';
import { defaultConfig } from './configFile.ts';
import type { Io } from './io.ts';

export interface TargetOptions {
  /** An origin. */
  readonly admin?: string;
  readonly config?: string;
}

/** `--admin`, and `--config` to read the address from. */
export function addTargetOptions(command: Command): Command {
  return addAdminOption(command).option(
    '--config <file>',
    'routes.yaml to read gateway.admin and admin_token from (default: routes.yaml, else config/routes.yaml, if it exists)',
  );
}

export function addAdminOption(command: Command): Command {
  return command.option(
    '--admin <host:port>',
    'admin listener of the running gateway; its token is read from ADMIN_TOKEN (default: gateway.admin of --config, else 127.0.0.1:9901)',
    originOf,
  );
}

const defaultOrigin = 'http://127.0.0.1:9901';

/** A token read from the file is only sent to the address read from the file. @throws AdminError, UnreadableFileError */
export function targetOf({ admin, config }: TargetOptions, io: Pick<Io, 'env' | 'cwd' | 'stderr'>): AdminTarget {
  const token = (io.env['ADMIN_TOKEN'] ?? '').trim();
  if (admin !== undefined) return { origin: admin, name: admin, token };
  const origin = defaultOrigin;
  const file = config ?? defaultConfig(io.cwd);
  if (file === undefined) return { origin, name: `${origin} (the default)`, token };
  const shown = printable(file);
  const address = addressIn(file, io);
  if (address instanceof UnreadableFileError || typeof address === 'string') {
    const reason = address instanceof UnreadableFileError ? address.message : `${shown} ${reasons[address]}`;
    // A file that was not named may be in the middle of an edit, and the status is needed just then.
    if (config === undefined && address !== 'unusable') {
      // The gateway at the default address may not be the one that the file configures.
      io.stderr.write(`Connecting to ${origin}, the default: ${reason}.\n`);
      return { origin, name: `${origin} (the default, as ${reason})`, token };
    }
    throw address instanceof UnreadableFileError
      ? address
      : new AdminError(`${reason}.  Give the address of the gateway: --admin host:port.`);
  }
  if (address === undefined)
    return { origin, name: `${origin} (the default, as ${shown} has no gateway.admin)`, token };
  const found = originOf(`${hostOf(address.host)}:${address.port}`);
  return { origin: found, name: `${found} (gateway.admin of ${shown})`, token: token === '' ? address.token : token };
}

const reasons = {
  broken: 'cannot be parsed: see version-gateway check',
  unusable: 'has no usable address in gateway.admin',
};

function addressIn(file: string, { cwd, env }: Pick<Io, 'cwd' | 'env'>) {
  try {
    return adminAddressIn(decode(readRoutes(file, cwd)) ?? '', env);
  } catch (error) {
    if (error instanceof UnreadableFileError) return new UnreadableFileError(printable(file), error.cause);
    throw error;
  }
}

/** A wildcard address includes the loopback address. */
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
