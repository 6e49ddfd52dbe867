import { InvalidArgumentError } from 'commander';
import { hostPort } from '../config/schema/network.ts';
import type { GatewaySettings } from '../config/snapshot.ts';
import { authority } from './banner.ts';

/** Checks the value of `--listen` or `--admin`. @throws InvalidArgumentError */
export function checkAddress(text: string): string {
  const issue = hostPort.safeParse(text).error?.issues[0];
  if (issue === undefined) return text;
  const remedy = issue.code === 'custom' ? issue.params?.['remedy'] : undefined;
  throw new InvalidArgumentError(`It ${issue.message}. ${typeof remedy === 'string' ? remedy : ''}`.trimEnd());
}

/** Why a listener could not be opened, which setting names it, and what to do. */
export function listenFailure(error: unknown, { listen, admin }: Pick<GatewaySettings, 'listen' | 'admin'>): string {
  const { code, address = '', port = 0 } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  const isAdmin = port === admin.port && port !== listen.port;
  const setting = isAdmin ? 'gateway.admin (or --admin)' : 'gateway.listen (or --listen)';
  const place = authority({ host: address, port });
  if (code === 'EADDRINUSE')
    return `${place} is in use by another process.  Stop that process, or set ${setting} to another port.`;
  if (code === 'EACCES') return `Listening on ${place} is not permitted.  Set ${setting} to a port above 1023.`;
  if (code === 'EADDRNOTAVAIL')
    return `${address} is not an address of this machine.  Set ${setting} to one that is, or to 0.0.0.0.`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `The host of ${setting} cannot be resolved.  Set it to an address of this machine.`;
  return error instanceof Error ? error.message : String(error);
}
