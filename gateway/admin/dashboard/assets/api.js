/** What the gateway refused, in its own words. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {{ code?: string, title?: string, detail?: string }} problem
   */
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `The gateway answered ${status}.`);
    this.status = status;
    this.code = problem.code;
  }
}

/**
 * @template Body
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<Body>}
 * @throws {Refused} when the gateway says no
 * @throws {TypeError} when it does not answer
 */
export async function ask(path, signal) {
  const response = await fetch(path, { headers: { Accept: 'application/json' }, ...(signal && { signal }) });
  await admit(response);
  return response.json();
}

/**
 * A call that changes something; a refusal has a body of its own.
 * @param {string} path
 * @param {object} [body]
 */
export async function tell(path, body = {}) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json().catch(() => ({})) };
}

/**
 * `/api/usage` with its parameters.
 * @param {Record<string, string>} parameters
 * @param {string} [path]
 */
export function usage(parameters, path = '/api/usage') {
  return `${path}?${new URLSearchParams(parameters)}`;
}

/** @param {Response} response */
async function admit(response) {
  if (response.ok) return;
  // The login has run out: the page itself leads to the form.
  if (response.status === 403) location.replace('/login');
  throw new Refused(response.status, await response.json().catch(() => ({})));
}
