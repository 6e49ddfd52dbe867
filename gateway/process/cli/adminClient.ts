import { identityField, parseIdentity } from '../../operate/admin/identity.ts';
import { type HttpAnswer, HttpClient, HttpFailure, type HttpRequest, httpUses } from '../../shared/httpClient.ts';
import { isMap } from '../../shared/json.ts';
import { printable } from '../../shared/text.ts';
import type { AnsweringGateway } from '../../usage/observability/answeringGateway.ts';
import type { Plan } from '../../versions/plan/plan.ts';

/** The running gateway gives no usable answer, or its address is unknown. The message is one line with a remedy. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
}

/** The admin listener to connect to. */
export interface AdminEndpoint {
  readonly origin: string;
  /** For messages: the origin, and its source unless `--admin` gave it: `http://127.0.0.1:9901 (the default)`. */
  readonly name: string;
  /** '': no token is sent. */
  readonly token: string;
  /** Called with the gateway that has given an answer. */
  readonly onAnswer?: (gateway: AnsweringGateway | undefined) => void;
  /** The gateway that has answered; undefined: none has yet. */
  readonly gateway?: () => AnsweringGateway | undefined;
}

/** The JSON API of a running gateway. Both methods throw AdminError. */
export interface AdminClient {
  /** @param timeoutMs until the response must be complete */
  get(path: string, timeoutMs?: number): Promise<JsonObject>;
  post(path: string, body: object, timeoutMs?: number): Promise<JsonObject>;
}

/** A JSON object whose fields are not checked yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

const defaultTimeoutMs = 10_000;

// The detail of these problems is complete, so no remedy is added.
const selfExplanatory: ReadonlySet<unknown> = new Set([
  'UNKNOWN_VERSION',
  'UNKNOWN_ROUTE',
  'ROUTE_ENDED',
  'NO_LEDGER',
  'NO_BROWNOUT',
  'NO_SHADOW',
  'NO_DRIFT',
  'NO_FLEET',
  'NO_RECEIVER',
  'NOT_FORGOTTEN',
  'STORE_UNANSWERED',
]);

/** @throws AdminError for a token that cannot be sent in a header */
export function adminClient({ origin, name, token, onAnswer }: AdminEndpoint): AdminClient {
  if (!/^[\x21-\x7e]*$/.test(token))
    throw new AdminError(
      'ADMIN_TOKEN contains characters that are not allowed in a token.  Set it to gateway.admin_token.',
    );
  const headers = { accept: 'application/json', ...(token !== '' && { authorization: `Bearer ${token}` }) };
  const request = async (
    path: string,
    deadlineMs: number,
    init: Omit<HttpRequest, 'deadlineMs'>,
  ): Promise<JsonObject> => {
    // Redirects are not followed: one could send the token to another host.
    const { answer, text } = await requestAdmin(origin + path, { ...init, deadlineMs }).catch((error: unknown) => {
      if (!(error instanceof HttpFailure)) throw error;
      const remedy = 'Check that the gateway is running, or give its gateway.admin address: --admin host:port.';
      throw new AdminError(`${name} does not answer: ${error.message}.  ${remedy}`);
    });
    const json = jsonOf(answer, text, name, token !== '');
    onAnswer?.(parseIdentity(answer.header(identityField)));
    return json;
  };
  return {
    get: (path, timeoutMs = defaultTimeoutMs) => request(path, timeoutMs, { headers }),
    post: (path, body, timeoutMs = defaultTimeoutMs) =>
      request(path, timeoutMs, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  };
}

/** The answer of a gateway to a GET. @throws AdminError, also if it is not the answer of a gateway of this release */
export async function askGateway<Answer>(
  endpoint: AdminEndpoint,
  path: string,
  isAnswer: (answer: unknown) => answer is Answer,
  timeoutMs?: number,
): Promise<Answer> {
  const answer: unknown = await adminClient(endpoint).get(path, timeoutMs);
  if (!isAnswer(answer)) throw notAGateway(endpoint.name);
  return answer;
}

/** Recognizes an answer of a gateway by its kind and one of its lists. A gateway of the same release has the other fields, too. */
export function isOfKind<Answer>(kind: string, list: string): (answer: unknown) => answer is Answer {
  return (answer): answer is Answer => isMap(answer) && answer['kind'] === kind && Array.isArray(answer[list]);
}

/** The gateway that has answered, as a member of the JSON output of a command. */
export function gatewayJson(endpoint: AdminEndpoint | undefined): object {
  const gateway = endpoint?.gateway?.();
  if (endpoint === undefined || gateway === undefined) return {};
  const { name, host, file } = gateway;
  return { gateway: { name, host, admin: endpoint.origin, file } };
}

/** For a response that is not JSON, or not the JSON of a gateway of this release. */
export function notAGateway(name: string): AdminError {
  const remedy = 'Give the gateway.admin address of a running gateway: --admin host:port.';
  return new AdminError(`${name} is not the admin listener of a version-gateway of this release.  ${remedy}`);
}

function jsonOf({ status, isOk }: HttpAnswer, text: string, name: string, hasToken: boolean): JsonObject {
  if (status === 401 || status === 403) {
    const remedy =
      'Set ADMIN_TOKEN to gateway.admin_token.  If gateway.admin_token is not set, connect from the machine of the gateway to a loopback address.';
    throw new AdminError(`${name} ${hasToken ? 'rejects the token' : 'requires a token'}.  ${remedy}`);
  }
  const answer = parsedJson(text);
  if (!isMap(answer)) throw notAGateway(name);
  if (isOk) return answer;
  const detail = typeof answer['detail'] === 'string' ? printable(answer['detail']) : 'The response gives no reason.';
  const remedy = selfExplanatory.has(answer['code']) ? '' : remedyFor(status);
  throw new AdminError(`${name} answered ${status}.  ${detail}${remedy}`);
}

function remedyFor(status: number): string {
  if (status === 404) return '  Check that the gateway is of this release.';
  return status >= 500 ? "  See the gateway's log." : '';
}

/** Undefined if the text is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Requests a URL of an admin listener, and reads the whole answer. No connection remains open. @throws HttpFailure */
export async function requestAdmin(
  url: string,
  request: HttpRequest,
): Promise<{ readonly answer: HttpAnswer; readonly text: string }> {
  const { deadlineMs } = request;
  const client = new HttpClient({ ...httpUses.admin, headMs: deadlineMs, bodyMs: deadlineMs });
  try {
    const answer = await client.request(url, request);
    return { answer, text: await answer.text() };
  } finally {
    await client.close();
  }
}

// A gateway waits for its ledger and, in a fleet, for the counts of the other gateways.
const planTimeoutMs = 65_000;

/** Asks a gateway for a plan. `body`: the JSON body of `POST /api/plan`. @throws AdminError */
export async function askForPlan(
  body: object,
  endpoint: AdminEndpoint,
): Promise<Plan | { readonly faults: readonly string[] }> {
  const answer: unknown = await adminClient(endpoint).post('/api/plan', body, planTimeoutMs);
  if (isPlan(answer) || isFaulty(answer)) return answer;
  throw notAGateway(endpoint.name);
}

// Checks enough to recognize a gateway. A gateway of the same release has the other fields, too.
function isPlan(answer: unknown): answer is Plan {
  if (!isMap(answer) || answer['kind'] !== 'plan' || typeof answer['summary'] !== 'string') return false;
  const { total, clients, versions, notes } = answer;
  return isMap(total) && [clients, versions, notes].every((list) => Array.isArray(list) && list.every(isMap));
}

function isFaulty(answer: unknown): answer is { readonly faults: readonly string[] } {
  if (!isMap(answer) || answer['kind'] !== 'faulty' || !Array.isArray(answer['faults'])) return false;
  return answer['faults'].every((fault) => typeof fault === 'string');
}
