import { Agent } from 'node:http';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { headers, successorLink } from '../support/workload.ts';

const [port = 0, backendPort] = process.argv.slice(2).map(Number);

const proxy = createProxyMiddleware({
  target: `http://127.0.0.1:${backendPort}`,
  agent: new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 1024 }),
  on: {
    proxyRes(answer, req) {
      answer.headers['deprecation'] = headers.deprecation;
      answer.headers['sunset'] = headers.sunset;
      answer.headers['link'] = successorLink(req.url ?? '');
    },
  },
});

express().disable('x-powered-by').use('/v1', proxy).listen(port, '127.0.0.1');
