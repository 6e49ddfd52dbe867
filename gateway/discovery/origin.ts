import type { Request } from 'express';
import type { Snapshot } from '../config/snapshot.ts';

// A name, an IPv4 address or a bracketed IPv6 address, and perhaps a port. Anything else never reaches a body.
const authority = /^(?:[a-z0-9][a-z0-9._-]*|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
const absoluteForm = /^https?:\/\/([^/?#]*)/i;

/**
 * The origin that a client knows us by: `public_url`, else what the request says (through a trusted proxy, what
 * `X-Forwarded-Host` and `-Proto` say). Empty when that is no host at all: links become root-relative.
 */
export function originOf(req: Request, snapshot: Snapshot): string {
  const { publicUrl } = snapshot.gateway;
  if (publicUrl !== undefined) return publicUrl;
  // RFC 9112 §3.2.2: the authority of an absolute-form target replaces Host.
  const host = absoluteForm.exec(req.originalUrl)?.[1] ?? req.host ?? '';
  const scheme = req.protocol === 'https' ? 'https' : 'http';
  return authority.test(host) ? `${scheme}://${host}` : '';
}
