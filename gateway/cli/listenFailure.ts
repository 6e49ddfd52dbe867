import { authority } from './banner.ts';

/** Why the gateway cannot start, and what to do about it. */
export function listenFailure(error: unknown): string {
  const { code, address = '', port = 0 } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  const place = authority({ host: address, port });
  if (code === 'EADDRINUSE') return `${place} is taken by another process.  Stop it, or choose another port.`;
  if (code === 'EACCES') return `${place} may not be listened on.  Choose a port above 1023.`;
  if (code === 'EADDRNOTAVAIL') return `${address} is no address of this machine.  Choose one that is, or 0.0.0.0.`;
  return error instanceof Error ? error.message : String(error);
}
