import { caddy } from './caddy.ts';
import type { Contender } from './contender.ts';
import { fastify } from './fastify.ts';
import { gateway } from './gateway.ts';
import { haproxy } from './haproxy.ts';
import { httpProxyMiddleware } from './httpProxyMiddleware.ts';
import { nginx } from './nginx.ts';

/** Ours first: the others are given as ratios to it. */
export const proxies: readonly Contender[] = [gateway, httpProxyMiddleware, fastify, nginx, haproxy, caddy];
