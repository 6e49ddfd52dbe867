import { type ServerResponse, STATUS_CODES } from 'node:http';

/** Answers with a problem of RFC 9457, titled by its status. */
export function sendProblem(res: ServerResponse, status: number, detail: string): void {
  const body = JSON.stringify({ type: 'about:blank', title: STATUS_CODES[status], status, detail });
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/problem+json');
  res.setHeader('Content-Length', Buffer.byteLength(body));
  res.setHeader('Cache-Control', 'no-store');
  // Node sends no body in answer to HEAD, whatever it is given.
  res.end(body);
}
