import { caddy } from './caddy.ts';
import type { ProxyDefinition } from './definition.ts';
import { fastify } from './fastify.ts';
import { gateway } from './gateway.ts';
import { haproxy } from './haproxy.ts';
import { httpProxyMiddleware } from './httpProxyMiddleware.ts';
import { nginx } from './nginx.ts';

/** The first one is the baseline of the ratios. */
export const proxies: readonly ProxyDefinition[] = [gateway, httpProxyMiddleware, fastify, nginx, haproxy, caddy];
