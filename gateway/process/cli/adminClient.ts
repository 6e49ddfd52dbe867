import type { AdminApi } from '../../operate/admin/adminApi.ts';
import { identityField, parseIdentity } from '../../operate/admin/identity.ts';
import { type HttpAnswer, HttpClient, HttpFailure, type HttpRequest, httpUses } from '../../shared/httpClient.ts';
import { isMap, type JsonMap } from '../../shared/json.ts';
import { printable } from '../../shared/text.ts';
import type { AnsweringGateway } from '../../usage/observability/answeringGateway.ts';
import { groupings } from '../../usage/report/usagePage.ts';

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

interface Asked<Name extends keyof AdminApi> {
  /** In place of `{version}`. */
  readonly version?: string;
  readonly query?: AdminApi[Name] extends { query?: infer Query }
    ? { [Key in keyof Query]?: Query[Key] | undefined }
    : never;
  readonly body?: AdminApi[Name] extends { body?: infer Body } ? Body : never;
  /** Until the response must be complete. */
  readonly timeoutMs?: number;
}

const defaultTimeoutMs = 10_000;
/** A gateway waits for its ledger and, in a fleet, for the counts of the other gateways. */
export const planTimeoutMs = 65_000;

/** The answer of a gateway to an operation. @throws AdminError, also if it is not the answer of a gateway of this release */
export async function askGateway<Name extends keyof typeof examples & keyof AdminApi>(
  { origin, name, token, onAnswer }: AdminEndpoint,
  operation: Name,
  { version = '', query, body, timeoutMs: deadlineMs = defaultTimeoutMs }: Asked<Name> = {},
): Promise<AdminApi[Name]['answer']> {
  if (!/^[\x21-\x7e]*$/.test(token))
    throw new AdminError(
      'ADMIN_TOKEN contains characters that are not allowed in a token.  Set it to gateway.admin_token.',
    );
  const [method, template = ''] = operation.split(' ');
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
  const parameters = new URLSearchParams(given.map(([key, value]) => [key, String(value)]));
  const path = `${template.replace('{version}', encodeURIComponent(version))}${parameters.size === 0 ? '' : `?${parameters}`}`;
  const headers = { accept: 'application/json', ...(token !== '' && { authorization: `Bearer ${token}` }) };
  const request: HttpRequest =
    method === 'GET'
      ? { headers, deadlineMs }
      : {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(body ?? {}),
          deadlineMs,
        };
  // Redirects are not followed: one could send the token to another host.
  const { answer, text } = await requestAdmin(origin + path, request).catch((error: unknown) => {
    if (!(error instanceof HttpFailure)) throw error;
    const remedy = 'Check that the gateway is running, or give its gateway.admin address: --admin host:port.';
    throw new AdminError(`${name} does not answer: ${error.message}.  ${remedy}`);
  });
  const json = jsonOf(answer, text, name, token !== '');
  onAnswer?.(parseIdentity(answer.header(identityField)));
  if (examples[operation].some((example) => isLike(json, example))) return json as AdminApi[Name]['answer'];
  throw notAGateway(name);
}

/** A part of a value. '' and 0 stand for any text and number, and the entry of a list for all its entries. */
type Example<Value> = Value extends readonly (infer Entry)[]
  ? readonly [] | readonly [Example<Entry>]
  : Value extends object
    ? { readonly [Name in keyof Value]?: Example<Value[Name]> }
    : Value extends string
      ? Value | ''
      : Value;

// Enough to recognize a gateway. A gateway of the same release has the other fields, too.
const examples = {
  'GET /api/status': [
    {
      config: { fingerprint: '', loaded_at: '', trigger: '' },
      versions: [{ version: '', stage: '', targets: [] }],
    },
  ],
  'POST /api/reload/preview': [
    { kind: 'unchanged' },
    { kind: 'faulty', faults: [] },
    { kind: 'refused', refusals: [] },
    { kind: 'reloaded', changes: [], forced: [] },
  ],
  'GET /api/usage': groupings.map((by) => ({ by, rows: [{}], since: '', until: '', problems: [] })),
  'GET /api/versions/{version}/retirement': (['yes', 'not yet', 'no', 'not known'] as const).map((answer) => {
    return { answer, reasons: [], notes: [], facts: { clients: [] } };
  }),
  'POST /api/plan': [
    { kind: 'plan', summary: '', total: {}, clients: [{}], versions: [{}], notes: [{}] },
    { kind: 'faulty', faults: [''] },
  ],
  'GET /api/digest': [{ title: '', sections: [{}] }],
  'POST /api/notify/test': [{ results: [{}] }],
  'GET /api/brownouts': [{ brownouts: [{ state: '' }] }],
  'GET /api/brownouts/{version}': [{ kind: 'brownout report', clients: [] }],
  'POST /api/brownouts/stop': [{ brownout: {} }],
  'GET /api/shadow': [{ shadows: [{ copies: {} }] }],
  'GET /api/shadow/{version}': [{ kind: 'shadow report', routes: [] }],
  'GET /api/shadow/{version}/requests': [{ kind: 'shadow requests', file: { requests: [{}] } }],
  'POST /api/shadow/stop': [{ shadow: {} }],
  'GET /api/drift': [{ drifts: [{ compared: 0 }] }],
  'GET /api/drift/{version}': [{ kind: 'drift report', routes: [] }],
  'POST /api/drift/stop': [{ drift: {} }],
  'GET /api/fleet': [{ gateways: [{}] }],
  'POST /api/fleet/forget': [{ forgotten: 0 }],
} as const satisfies { readonly [Name in keyof AdminApi]?: readonly Example<AdminApi[Name]['answer']>[] };

function isLike(value: unknown, example: unknown): boolean {
  if (Array.isArray(example))
    return Array.isArray(value) && (example.length === 0 || value.every((entry) => isLike(entry, example[0])));
  if (!isMap(example)) return typeof value === typeof example && (example === '' || example === 0 || value === example);
  return isMap(value) && Object.entries(example).every(([name, member]) => isLike(value[name], member));
}

/** The gateway that has answered, as a member of the JSON output of a command. */
export function gatewayJson(endpoint: AdminEndpoint | undefined): object {
  const gateway = endpoint?.gateway?.();
  if (endpoint === undefined || gateway === undefined) return {};
  const { name, host, file } = gateway;
  return { gateway: { name, host, admin: endpoint.origin, file } };
}

/** For a response that is not JSON, or not the JSON of a gateway of this release. */
function notAGateway(name: string): AdminError {
  const remedy = 'Give the gateway.admin address of a running gateway: --admin host:port.';
  return new AdminError(`${name} is not the admin listener of a version-gateway of this release.  ${remedy}`);
}

function jsonOf({ status, isOk }: HttpAnswer, text: string, name: string, hasToken: boolean): JsonMap {
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
