import type { RequestHandler } from 'express';
import type { AnsweringGateway } from '../../usage/observability/answeringGateway.ts';

/** The response header field that names the gateway. Its value is a query string, so that every file name fits into it. */
export const identityField = 'version-gateway';

/** Names the gateway in every answer of the admin listener. */
export function nameGateway(identity: () => AnsweringGateway): RequestHandler {
  return (_req, res, next) => {
    res.set(identityField, new URLSearchParams({ ...identity() }).toString());
    next();
  };
}

const keys = ['name', 'host', 'admin', 'file', 'digest'] as const;

/** The gateway that a value of the field names; undefined if there is none. */
export function parseIdentity(value: string | undefined): AnsweringGateway | undefined {
  if (value === undefined) return undefined;
  const fields = new URLSearchParams(value);
  const [name = '', host = '', admin = '', file = '', digest = ''] = keys.map((key) => fields.get(key) ?? '');
  return name === '' ? undefined : { name, host, admin, file, digest };
}
