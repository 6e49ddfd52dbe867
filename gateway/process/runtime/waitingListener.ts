import type { RequestListener } from 'node:http';

const reason = 'The gateway has not reached the shared store of its fleet since its start (fleet.start: wait).';

/** Answers the admin listener while the gateway waits for the shared store of its fleet: it runs, and it is not ready. */
export const waitingListener: RequestListener = (req, res) => {
  const isProbe = req.method === 'GET' || req.method === 'HEAD';
  if (isProbe && req.url === '/healthz') {
    res.writeHead(200, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }).end('ok');
    return;
  }
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'retry-after': '2',
  };
  res.writeHead(503, headers).end(JSON.stringify({ ready: false, reason }));
};
