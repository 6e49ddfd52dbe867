import { requestHead } from '../forwarding/requestHead.ts';
import type { ResponsePlan } from '../forwarding/responseFields.ts';
import type { Exchange } from './exchange.ts';

/** The head that the target is sent. */
export function requestHeadFor(exchange: Exchange): string {
  const { host, target, activeVersion, context, upgrade } = exchange;
  return requestHead({
    method: exchange.method,
    path: exchange.path,
    fields: exchange.fields,
    host: host === '' ? target.authority : host,
    askedHost: host,
    id: exchange.id,
    traceparent: exchange.traceparent,
    httpVersion: exchange.req.httpVersion,
    peer: exchange.peer,
    removedPrefix: activeVersion?.removedPrefix ?? '',
    pseudonym: context.pseudonym,
    upgrade: upgrade?.protocol ?? '',
  });
}

/** What the head that the client is sent is made of, besides the target's own. */
export function responsePlanFor({
  activeVersion,
  target,
  host,
  lifecycle,
  context,
  req,
  method,
  peer,
}: Exchange): ResponsePlan {
  return {
    rewriting: activeVersion?.rewriting,
    origins: { target: target.authority, client: host, public: activeVersion?.publicAuthority ?? '' },
    lifecycle,
    pseudonym: context.pseudonym,
    trailers: req.httpVersionMinor === 1 && method !== 'HEAD',
    hsts: peer.hsts,
  };
}
