import { caddy } from './caddy.ts';
import type { ProxyDefinition } from './definition.ts';
import { fastify } from './fastify.ts';
import { gateway } from './gateway.ts';
import { haproxy } from './haproxy.ts';
import { httpProxyMiddleware } from './httpProxyMiddleware.ts';
import { nginx } from './nginx.ts';

/** In the order of the tables. */
export const proxies: readonly ProxyDefinition[] = [haproxy, gateway, nginx, caddy, fastify, httpProxyMiddleware];

/** The proxies that are not Node libraries: they can serve TLS and write access logs. */
export const standaloneProxies: readonly ProxyDefinition[] = [haproxy, gateway, nginx, caddy];
