import { STATUS_CODES } from 'node:http';
import type { ErrorRequestHandler, RequestHandler, Response } from 'express';

/** Thrown to reject a request. The client gets the message. */
export class HttpError extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

/** The last handler of a route: answers OPTIONS, and rejects every method that is not in `allow`. */
export function allowOnly(allow: string): RequestHandler {
  return (req, res) => {
    res.set('Allow', allow);
    if (req.method === 'OPTIONS') res.status(204).end();
    else sendProblem(res, 405, `${req.method} is not allowed here. Allowed: ${allow}`);
  };
}

export const answerUnknownRoute: RequestHandler = (req, res) => {
  sendProblem(res, 404, `There is no route ${req.path}`);
};

// Express recognizes an error handler by its four parameters.
export const answerError: ErrorRequestHandler = (error: unknown, _req, res, _next) => {
  const status = clientErrorStatus(error);
  if (status !== undefined && error instanceof Error) return sendProblem(res, status, error.message);
  console.error(error);
  sendProblem(res, 500, 'The service failed. The request is not the cause.');
};

// Errors that a request causes have a `status`: those of Express, of its body parser, and `HttpError`.
function clientErrorStatus(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('status' in error)) return undefined;
  const { status } = error;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}

/** RFC 9457. */
function sendProblem(res: Response, status: number, detail: string): void {
  res.status(status).type('application/problem+json');
  res.json({ type: 'about:blank', title: STATUS_CODES[status], status, detail });
}
