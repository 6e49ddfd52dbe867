import { readFileSync } from 'node:fs';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { Snapshot } from '../../config/snapshot.ts';
import { sendProblem } from '../../problems/problem.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Attempts } from '../attempts.ts';
import { clientAddress } from '../clientAddress.ts';
import { sameSecret } from '../secret.ts';
import { asset, sendAsset } from './assets.ts';
import { sameOrigin } from './sameOrigin.ts';
import { sessionCookie, sessionOf } from './sessionCookie.ts';
import type { Sessions } from './sessions.ts';

const form = readFileSync(asset('login.html'), 'utf8');

/** `/login` and what it is drawn with: open to everybody, under any name, but there only while a token is set. */
export function login(
  live: { readonly current: Snapshot },
  sessions: Sessions,
  attempts: Attempts,
  clock: Clock,
): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  router.use((_req, _res, next) => next(live.current.gateway.adminToken === undefined ? 'router' : undefined));
  for (const name of ['style.css', 'icon.svg']) router.get(`/assets/${name}`, sendAsset(name));
  router.get('/login', (_req, res) => sendForm(res, 200, ''));
  router.post('/login', ownForm, express.urlencoded({ extended: false, limit: '4kb' }), (req, res) => {
    const [address, now] = [clientAddress(req), clock.now()];
    const token = live.current.gateway.adminToken as string;
    if (!sameSecret(tokenOf(req), token) || !attempts.believes(address, token, now)) {
      const wait = Math.ceil(attempts.wait(address, now) / 1_000);
      attempts.fail(address, now);
      if (wait > 0) res.set('Retry-After', String(wait));
      if (wait > 0) sendForm(res, 429, `Too many attempts. Try again in ${wait} seconds.`);
      else sendForm(res, 401, 'This is not the admin token.');
      return;
    }
    attempts.succeed(address, token);
    res.set('Set-Cookie', sessionCookie(req, sessions.open(token, now)));
    res.redirect(303, '/');
  });
  return router;
}

/** `POST /logout`: ends the session that the call is made with. */
export function logout(sessions: Sessions): RequestHandler {
  return (req, res) => {
    sessions.end(sessionOf(req) ?? '');
    res.set('Set-Cookie', sessionCookie(req, '')).status(204).end();
  };
}

// Another site's page could use up our operator's attempts, or log a browser in.
const ownForm: RequestHandler = (req, res, next) => {
  if (sameOrigin(req) === false) sendProblem(res, 'FORBIDDEN', 'The form of another site cannot log in here.');
  else next();
};

function tokenOf(req: Request): string {
  const { token } = (req.body ?? {}) as { token?: unknown };
  return typeof token === 'string' ? token.trim() : '';
}

/** `message` is text of our own and goes into the page as it is. */
function sendForm(res: Response, status: number, message: string): void {
  // With no-referrer a browser would send `Origin: null`, which tells us nothing (Fetch §3.2).
  res.set('Referrer-Policy', 'same-origin');
  res.status(status).type('html');
  res.send(form.replace('<!-- message -->', message && `<p class="problem" role="alert">${message}</p>`));
}
