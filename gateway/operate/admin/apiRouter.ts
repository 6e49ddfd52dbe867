import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { ProblemCode } from '../../problems/catalogue.ts';
import { sendProblem } from '../../problems/problem.ts';
import { largestFileBytes } from '../../shared/fileSystem.ts';
import type { AdminApi, AdminProblem } from './adminApi.ts';
import { requireJson } from './guard.ts';
import { type AnswerBody, type AnswerProblem, LedgerUnansweredError } from './reading/ledgerClient.ts';
import { InvalidParameterError } from './usageQueryParams.ts';

/** The members that a request may have. Clients send them, so their values are not checked yet. */
type Sent<Members> = { readonly [Name in keyof Members]?: unknown };

/** `version` of `GET /api/brownouts/{version}` */
type PathParameter<Name> = Name extends `${string}{${infer Parameter}}${string}` ? Parameter : never;

interface ApiRequest<Name extends keyof AdminApi> {
  readonly params: Readonly<Record<PathParameter<Name>, string>>;
  readonly query: Sent<AdminApi[Name] extends { query?: infer Query } ? Query : never>;
  readonly body: Sent<AdminApi[Name] extends { body?: infer Body } ? Body : never>;
  readonly request: Request;
}

/** An answer that fits the type of the operation, perhaps encoded already, or one of its problems. */
type Outcome<Name extends keyof AdminApi> =
  | {
      readonly answer: AdminApi[Name]['answer'];
      readonly status?: AdminApi[Name] extends { statuses: infer Status } ? Status : never;
    }
  | AnswerBody<AdminApi[Name]['answer']>
  | AnswerProblem<AdminProblem<Name>>;

type ApiHandler<Name extends keyof AdminApi> = (request: ApiRequest<Name>) => Outcome<Name> | Promise<Outcome<Name>>;

/** The handlers of operations. The compiler rejects an answer, a problem or a parameter that `AdminApi` does not state. */
export type ApiHandlers = { readonly [Name in keyof AdminApi]: ApiHandler<Name> };

/** For operations that need the ledger of a gateway that keeps none. */
export const noLedger = {
  problem: 'NO_LEDGER',
  detail: 'This gateway keeps no usage ledger, so it has no usage data.',
} as const satisfies AnswerProblem<'NO_LEDGER'>;

// For a file of `largestFileBytes` bytes as a JSON text: an escaped character such as a line break takes two bytes.
const maxBytesWithFile = 2 * largestFileBytes + 1024;
const bodyLimits: Partial<Record<keyof AdminApi, number>> = {
  'POST /api/plan': maxBytesWithFile,
  'POST /api/reload/preview': maxBytesWithFile,
};

/** Routes the requests of these operations to their handlers. */
export function apiRouter(handlers: Partial<ApiHandlers>): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  const segmentsOf = (name: string) => name.split('/').length;
  // The id of a version may have several segments, because some proxies decode the slash in `orders%2Fv1`. So the path that ends with
  // an id also matches `orders/v1/requests`: longer paths are tried first.
  const names = (Object.keys(handlers) as (keyof AdminApi)[]).sort((a, b) => segmentsOf(b) - segmentsOf(a));
  for (const name of names) {
    const [method, template = ''] = name.split(' ');
    const path = template.replaceAll(/\{(\w+)\}/g, '*$1');
    const handler = handlers[name] as ApiHandler<keyof AdminApi>;
    const handle: RequestHandler = async (request, res) => {
      const { query, body = {} } = request;
      const segments = Object.entries<string | string[]>(request.params);
      const params = Object.fromEntries(segments.map(([key, value]) => [key, [value].flat().join('/')]));
      await send(res, () => handler({ params, query, body, request } as ApiRequest<keyof AdminApi>));
    };
    if (method === 'GET') router.get(path, handle);
    else router.post(path, requireJson, express.json({ limit: bodyLimits[name] ?? '16kb' }), handle);
  }
  return router;
}

type AnyOutcome =
  | { readonly answer: unknown; readonly status?: number }
  | AnswerBody<unknown>
  | AnswerProblem<ProblemCode>;

async function send(res: Response, outcomeOf: () => AnyOutcome | Promise<AnyOutcome>): Promise<void> {
  const outcome = await Promise.try(outcomeOf).catch(problemOf);
  if ('answer' in outcome) res.status(outcome.status ?? 200).json(outcome.answer);
  else if ('body' in outcome) sendBody(res, outcome);
  else {
    if (outcome.problem === 'LEDGER_UNANSWERED') res.set('Retry-After', '30');
    sendProblem(res, outcome.problem, outcome.detail, outcome.members);
  }
}

/** @throws `error` if it is no problem of the request or of the ledger */
function problemOf(error: unknown): AnswerProblem<ProblemCode> {
  if (error instanceof InvalidParameterError) return { problem: 'BAD_REQUEST', detail: error.message };
  if (error instanceof LedgerUnansweredError) return { problem: 'LEDGER_UNANSWERED', detail: error.message };
  throw error;
}

// Not Express's send(), which would compute an ETag over megabytes that no client caches.
function sendBody(res: Response, { body, csvName }: AnswerBody<unknown>): void {
  if (csvName === undefined) res.type('json');
  else res.attachment(csvName).type('text/csv');
  res.set('Content-Length', String(body.byteLength)).end(body);
}
