import { readFileSync } from 'node:fs';
import { apiOf, withRemovedApis } from '../../config/api.ts';
import { toPlain } from '../../config/transfer.ts';
import { largestFileBytes } from '../../shared/fileSystem.ts';
import { adminApiFile } from '../../shared/packageFiles.ts';
import { CallsQuestion, factsWithoutWaiting } from '../../versions/retirement/liveFacts.ts';
import { type ApiHandlers, noLedger } from './apiRouter.ts';
import type { AdminContext, AdminSources } from './operations.ts';
import {
  type AnswerBody,
  type AnswerProblem,
  type ClientNaming,
  type LedgerQueryParams,
  unknownVersionText,
} from './reading/ledgerClient.ts';
import { statusJson } from './status.ts';
import { InvalidParameterError, parsePlanQuery, parseRetirementQuery, parseUsageQuery } from './usageQueryParams.ts';

// HTTP statuses. `incomplete`: a worker has not confirmed the reload; `faulty`: an invalid file; `refused`: by the reload guard.
const reloadStatuses = { reloaded: 200, incomplete: 202, unchanged: 200, faulty: 422, refused: 409 } as const;

const tooLarge = {
  problem: 'BODY_TOO_LARGE',
  detail: '`routes_yaml` is larger than a file that a reload reads.',
} as const;

/** The operations that every gateway has. The features have more. */
export function operatorRoutes(context: AdminContext): Partial<ApiHandlers> {
  const { source, operations, accessOf } = context;
  const { clock, live, configuration } = operations;
  return {
    'GET /api/openapi.json': () => ({ body: readFileSync(adminApiFile()) }),

    'GET /api/status': async () => ({ answer: await statusJson(context) }),

    'POST /api/reload': async () => {
      const answer = await configuration.reload();
      return { answer, status: reloadStatuses[answer.kind] };
    },

    'POST /api/reload/preview': async ({ body: { routes_yaml: text } }) => {
      if (text !== undefined && typeof text !== 'string')
        throw new InvalidParameterError(
          '`routes_yaml` must be the text of the file to check, or absent for the file of the gateway.',
        );
      return isTooLarge(text) ? tooLarge : { answer: await configuration.preview(text) };
    },

    'GET /api/usage': async ({ query }) => {
      const asked = await usageQuery(query, context);
      return live.ledger?.query('usage', source.current, asked) ?? noLedger;
    },

    'GET /api/usage.csv': async ({ query }) => {
      const asked = await usageQuery(query, context);
      return live.ledger?.query('usageCsv', source.current, asked) ?? noLedger;
    },

    'POST /api/usage/names': async ({ body, request }) => {
      // `machine`: without a token, but from this machine.
      if (accessOf(request) === 'machine') {
        const detail = 'Naming a client changes a file. Set gateway.admin_token and log in with it.';
        return { problem: 'FORBIDDEN', detail };
      }
      const naming = parseNaming(body);
      return live.ledger?.query('name', source.current, naming) ?? noLedger;
    },

    'GET /api/versions/{version}/retirement': async ({ params: { version }, query }) => {
      const { ledger } = live;
      const snapshot = source.current;
      if (!ledger && !snapshot.versions.has(version))
        return { problem: 'UNKNOWN_VERSION', detail: `No such version: ${unknownVersionText(snapshot)}` };
      const { route, quiet = apiOf(version, snapshot).retire.quiet } = parseRetirementQuery(query);
      if (!ledger) return noLedger;
      return withCountsOfFleet(live, [version], async (question) => {
        const state = await question.answer([version], quiet);
        const freeze = operations.freezeOf?.(version);
        return ledger.query('retirement', snapshot, { version, route, quiet, state, freeze, now: clock.now() });
      });
    },

    'POST /api/plan': async ({ body }) => {
      const { ledger } = live;
      const snapshot = source.current;
      const query = parsePlanQuery(body, clock.now());
      if (!ledger) return noLedger;
      if ('routesYaml' in query && isTooLarge(query.routesYaml)) return tooLarge;
      const edit = 'retire' in query ? { retired: query.retire } : await configuration.snapshotOf(query.routesYaml);
      if (!('retired' in edit) && !('fingerprint' in edit)) return { answer: { kind: 'faulty', faults: edit } };
      const candidate = 'retired' in edit ? edit : toPlain(edit);
      const { since, at, now } = query;
      const versions = [...snapshot.versions.keys()];
      const judged = withRemovedApis('retired' in edit ? snapshot : edit, snapshot, versions);
      return withCountsOfFleet(live, versions, async (question) => {
        // The plan counts the requests since `since`, and says yes only if no call of `guard.quiet` is missing.
        const periodOf = (version: string) => Math.max(now - since, apiOf(version, judged).guard.quiet);
        const state = await question.answer(versions, periodOf);
        return ledger.query('plan', snapshot, { candidate, since, at, now, state });
      });
    },
  };
}

function isTooLarge(routesYaml = ''): boolean {
  return Buffer.byteLength(routesYaml) > largestFileBytes;
}

/** @throws InvalidParameterError */
async function usageQuery(
  query: Parameters<typeof parseUsageQuery>[0],
  { operations: { clock, live } }: AdminContext,
): Promise<LedgerQueryParams['usage']> {
  const parameters = parseUsageQuery(query, clock.now());
  const { by, version = '', since, until } = parameters;
  const report = await live.report();
  return {
    ...parameters,
    live: factsWithoutWaiting(version, report, until - since, live.fleet),
    routeAnswers: by === 'route' ? report.routeAnswers : undefined,
  };
}

/** Asks the ledger, and asks again after the other gateways have sent their counts if these may change the answer. */
async function withCountsOfFleet<Answer extends AnswerBody<unknown> | AnswerProblem>(
  live: AdminSources,
  versions: readonly string[],
  ask: (question: CallsQuestion) => Promise<Answer>,
): Promise<Answer> {
  const question = new CallsQuestion(live);
  const answer = await ask(question);
  if (!live.fleet || 'problem' in answer || !answer.mayLackCounts) return answer;
  await question.wait(versions);
  return ask(question);
}

const maxClientLength = 300;
/** The longest name of a client or of a gateway. */
export const maxNameLength = 100;

/** @throws InvalidParameterError */
function parseNaming({ client, name, was = '' }: { readonly [Name in keyof ClientNaming]?: unknown }): ClientNaming {
  if (!isLine(client, maxClientLength) || client === '')
    throw new InvalidParameterError(
      `\`client\` must be a client of the ledger, one line of at most ${maxClientLength} characters.`,
    );
  if (!isLine(name, maxNameLength))
    throw new InvalidParameterError(
      `\`name\` must be one line of at most ${maxNameLength} characters. An empty name removes it.`,
    );
  if (typeof was !== 'string') throw new InvalidParameterError('`was` must be the previous name, or empty.');
  return { client, name: name.trim(), was };
}

export function isLine(text: unknown, maxLength: number): text is string {
  return typeof text === 'string' && text.length <= maxLength && !/[\p{Cc}\u2028\u2029]/u.test(text);
}
