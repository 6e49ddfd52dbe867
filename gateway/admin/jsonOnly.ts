import type { RequestHandler } from 'express';
import { sendProblem } from '../problems/problem.ts';

/** A form of another site can post, too, but not this type (CSRF). */
export const jsonOnly: RequestHandler = (req, res, next) => {
  // Not req.is(), which knows no type without a body.
  if (/^application\/json\s*(?:;|$)/i.test(req.get('content-type') ?? '')) next();
  else sendProblem(res, 'UNSUPPORTED_MEDIA_TYPE', 'Send it with Content-Type: application/json; the body may be {}.');
};
