import express, { type RequestHandler, type Router } from 'express';
import type { Snapshot } from '../config/snapshot.ts';
import { sendProblem } from '../problems/problem.ts';
import type { Admits } from './guard.ts';
import { jsonOnly } from './jsonOnly.ts';
import type { Operations } from './operations.ts';
import type { ClientNaming } from './reading/questions.ts';
import { sendAnswer } from './usage.ts';

const longestClient = 300;
const longestName = 100;

/** `POST /api/usage/names`: writes the name of a client into the file that `usage.names` names. */
export function addNames(
  router: Router,
  live: { readonly current: Snapshot },
  asked: Operations,
  admits: Admits,
): void {
  const withToken: RequestHandler = (req, res, next) => {
    if (admits(req) !== 'machine') next();
    else sendProblem(res, 'FORBIDDEN', 'Naming a client changes a file. Set gateway.admin_token, and log in with it.');
  };
  router.post('/api/usage/names', jsonOnly, withToken, express.json({ limit: '16kb' }), async ({ body }, res) => {
    const naming = namingIn(body);
    if (typeof naming === 'string') sendProblem(res, 'BAD_REQUEST', naming);
    else await sendAnswer(res, asked.usage?.ask('name', live.current, naming));
  });
}

/** A text says what is wrong with the body. */
function namingIn(body: unknown): ClientNaming | string {
  const { client, name, was = '' } = (body ?? {}) as Record<string, unknown>;
  if (!isLine(client, longestClient) || client === '')
    return `\`client\` is what the ledger calls a client, one line of at most ${longestClient} characters.`;
  if (!isLine(name, longestName))
    return `\`name\` is one line of at most ${longestName} characters; an empty one removes the name.`;
  if (typeof was !== 'string') return '`was` is the name that the client had, or empty.';
  return { client, name: name.trim(), was };
}

function isLine(text: unknown, longest: number): text is string {
  return typeof text === 'string' && text.length <= longest && !/[\p{Cc}\u2028\u2029]/u.test(text);
}
