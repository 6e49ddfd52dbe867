import { readFileSync } from 'node:fs';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { toPlain } from '../../config/transfer.ts';
import { sendProblem } from '../../problems/problem.ts';
import { largestFileBytes } from '../../shared/fileSystem.ts';
import { adminApiFile } from '../../shared/packageFiles.ts';
import { CallsQuestion, factsWithoutWaiting } from '../../versions/retirement/liveFacts.ts';
import type { AdminApi } from './adminApi.ts';
import { requireJson } from './guard.ts';
import type { AdminContext, ReloadOutcome } from './operations.ts';
import {
  type AnswerBody,
  type AnswerProblem,
  type ClientNaming,
  LedgerUnansweredError,
  unknownVersionText,
} from './reading/ledgerClient.ts';
import { statusJson } from './status.ts';
import { InvalidParameterError, parsePlanQuery, parseRetirementQuery, parseUsageQuery } from './usageQueryParams.ts';

/** `/api/openapi.json`, `/api/status`, `/api/reload`, `/api/usage`, `/api/versions` and `/api/plan`: the API behind the dashboard and the CLI. The features have more. */
export function operatorRoutes(context: AdminContext): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  router.get('/api/openapi.json', (_req, res) => {
    res.type('json').send(readFileSync(adminApiFile(), 'utf8'));
  });
  router.get('/api/status', async (_req, res) => {
    res.json(await statusJson(context));
  });
  addReload(router, context);
  addUsage(router, context);
  addNaming(router, context);
  addRetirement(router, context);
  addPlan(router, context);
  return router;
}

// HTTP statuses. `incomplete`: a worker has not confirmed the reload; `faulty`: an invalid file; `refused`: by the reload guard.
const reloadStatuses: Readonly<Record<ReloadOutcome['kind'], AdminApi['POST /api/reload']['statuses']>> = {
  reloaded: 200,
  incomplete: 202,
  unchanged: 200,
  faulty: 422,
  refused: 409,
};

// For a file of `largestFileBytes` bytes as a JSON text: an escaped character such as a line break takes two bytes.
const maxBodyBytes = 2 * largestFileBytes + 1024;
const tooLargeDetail = '`routes_yaml` is larger than a file that a reload reads.';

function addReload(router: Router, { operations }: AdminContext): void {
  router.post('/api/reload', requireJson, async (_req, res) => {
    const outcome = await operations.configuration.reload();
    res.status(reloadStatuses[outcome.kind]).json(outcome);
  });
  router.post('/api/reload/preview', requireJson, express.json({ limit: maxBodyBytes }), async (req, res) => {
    const { routes_yaml: text } = req.body as { routes_yaml?: unknown };
    if (text !== undefined && typeof text !== 'string') {
      const detail = '`routes_yaml` must be the text of the file to check, or absent for the file of the gateway.';
      sendProblem(res, 'BAD_REQUEST', detail);
      return;
    }
    if (text !== undefined && Buffer.byteLength(text) > largestFileBytes) {
      sendProblem(res, 'BODY_TOO_LARGE', tooLargeDetail);
      return;
    }
    res.json(await operations.configuration.preview(text));
  });
}

/** `GET /api/usage` and `GET /api/usage.csv`. */
function addUsage(router: Router, { source, operations }: AdminContext): void {
  const send = (format: 'json' | 'csv'): RequestHandler => {
    return ({ query }, res) =>
      sendAnswer(res, async () => {
        const { clock, live } = operations;
        const { ledger } = live;
        const parameters = parseUsageQuery(query, clock.now());
        const report = await live.report();
        const { by, version = '', since, until } = parameters;
        const state = {
          live: factsWithoutWaiting(version, report, until - since, live.fleet),
          routeAnswers: by === 'route' ? report.routeAnswers : undefined,
        };
        return ledger?.query('usage', source.current, { ...parameters, ...state, format });
      });
  };
  router.get('/api/usage', send('json'));
  router.get('/api/usage.csv', send('csv'));
}

/** `GET /api/versions/{version}/retirement`: the verdict whether a version may be retired, or one of its routes may end. */
function addRetirement(router: Router, { source, operations }: AdminContext): void {
  router.get('/api/versions/:version/retirement', async ({ params, query }, res) => {
    const { clock, live } = operations;
    const { ledger } = live;
    const question = new CallsQuestion(operations.live);
    const snapshot = source.current;
    const { version } = params;
    if (!ledger && !snapshot.versions.has(version)) {
      sendProblem(res, 'UNKNOWN_VERSION', `No such version: ${unknownVersionText(snapshot)}`);
      return;
    }
    const queryLedger = async (): Promise<AnswerBody | AnswerProblem | undefined> => {
      const { route, quiet = snapshot.retire.quiet } = parseRetirementQuery(query);
      const state = await question.answer([version], quiet);
      const freeze = operations.freezeOf?.(version);
      return ledger?.query('retirement', snapshot, { version, route, quiet, state, freeze, now: clock.now() });
    };
    await sendAnswer(res, async () => {
      const answer = await queryLedger();
      if (!operations.live.fleet || answer === undefined || 'problem' in answer || !answer.mayLackCounts) return answer;
      await question.wait([version]);
      return queryLedger();
    });
  });
}

/** `POST /api/plan`: which clients would lose requests if a routes.yaml were applied, or a version retired. Changes nothing. */
function addPlan(router: Router, { source, operations }: AdminContext): void {
  router.post('/api/plan', requireJson, express.json({ limit: maxBodyBytes }), async (req, res) => {
    const { clock, live } = operations;
    const { ledger } = live;
    const question = new CallsQuestion(operations.live);
    const snapshot = source.current;
    await sendAnswer(res, async () => {
      const query = parsePlanQuery(req.body, clock.now());
      if (ledger === undefined) return undefined;
      if ('routesYaml' in query && Buffer.byteLength(query.routesYaml ?? '') > largestFileBytes)
        return { problem: 'BODY_TOO_LARGE', detail: tooLargeDetail };
      const edit =
        'retire' in query ? { retired: query.retire } : await operations.configuration.snapshotOf(query.routesYaml);
      const hasFaults = !('retired' in edit) && !('fingerprint' in edit);
      if (hasFaults) return { body: new TextEncoder().encode(JSON.stringify({ kind: 'faulty', faults: edit })) };
      const candidate = 'retired' in edit ? edit : toPlain(edit);
      const { since, at, now } = query;
      const { quiet } = ('retired' in edit ? snapshot : edit).guard;
      const versions = [...snapshot.versions.keys()];
      const queryLedger = async (): Promise<AnswerBody | AnswerProblem> => {
        // The plan counts the requests since `since`, and says yes only if no call of `guard.quiet` is missing.
        const state = await question.answer(versions, Math.max(now - since, quiet));
        return ledger.query('plan', snapshot, { candidate, since, at, now, state });
      };
      const answer = await queryLedger();
      if (!operations.live.fleet || 'problem' in answer || !answer.mayLackCounts) return answer;
      await question.wait(versions);
      return queryLedger();
    });
  });
}

const maxClientLength = 300;
/** The longest name of a client or of a gateway. */
export const maxNameLength = 100;

/** `POST /api/usage/names`: changes the name of a client in the file `usage.names`. */
function addNaming(router: Router, { source, operations, accessOf }: AdminContext): void {
  const requireToken: RequestHandler = (req, res, next) => {
    // `machine`: without a token, but from this machine.
    if (accessOf(req) !== 'machine') next();
    else sendProblem(res, 'FORBIDDEN', 'Naming a client changes a file. Set gateway.admin_token and log in with it.');
  };
  router.post('/api/usage/names', requireJson, requireToken, express.json({ limit: '16kb' }), async (req, res) => {
    const naming = parseNaming(req);
    if (typeof naming === 'string') sendProblem(res, 'BAD_REQUEST', naming);
    else await sendAnswer(res, () => operations.live.ledger?.query('name', source.current, naming));
  });
}

/** @returns what is wrong with the body, if it is invalid */
function parseNaming({ body }: Request): ClientNaming | string {
  const { client, name, was = '' } = (body ?? {}) as Record<string, unknown>;
  if (!isLine(client, maxClientLength) || client === '')
    return `\`client\` must be a client of the ledger, one line of at most ${maxClientLength} characters.`;
  if (!isLine(name, maxNameLength))
    return `\`name\` must be one line of at most ${maxNameLength} characters. An empty name removes it.`;
  if (typeof was !== 'string') return '`was` must be the previous name, or empty.';
  return { client, name: name.trim(), was };
}

export function isLine(text: unknown, maxLength: number): text is string {
  return typeof text === 'string' && text.length <= maxLength && !/[\p{Cc}\u2028\u2029]/u.test(text);
}

/** Sends the answer of the ledger, or the reason why there is none. `query` returns undefined if no ledger is kept. */
export async function sendAnswer(
  res: Response,
  query: () => Promise<AnswerBody | AnswerProblem | undefined> | undefined,
): Promise<void> {
  try {
    const answer = await query();
    if (answer === undefined)
      sendProblem(res, 'NO_LEDGER', 'This gateway keeps no usage ledger, so it has no usage data.');
    else if ('problem' in answer) {
      if (answer.problem === 'LEDGER_UNANSWERED') res.set('Retry-After', '30');
      sendProblem(res, answer.problem, answer.detail, answer.members);
    } else sendBody(res, answer);
  } catch (error) {
    if (error instanceof InvalidParameterError) sendProblem(res, 'BAD_REQUEST', error.message);
    else if (error instanceof LedgerUnansweredError) {
      res.set('Retry-After', '30');
      sendProblem(res, 'LEDGER_UNANSWERED', error.message);
    } else throw error;
  }
}

// Not Express's send(), which would compute an ETag over megabytes that no client caches.
function sendBody(res: Response, { body, csvName }: AnswerBody): void {
  if (csvName === undefined) res.type('json');
  else res.attachment(csvName).type('text/csv');
  res.set('Content-Length', String(body.byteLength)).end(body);
}
