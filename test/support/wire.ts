import { type Answer, type Backend, okAnswer, startBackend } from './backend.ts';
import { startTestGateway, type TestSettings } from './gateway.ts';
import { connectTo, type RawClient } from './rawClient.ts';

export interface WireSettings extends TestSettings {
  /** Settings of `/v1` besides its `upstream`, which they may replace. */
  readonly version?: Readonly<Record<string, unknown>>;
  /** More routes, or another `/v1`. */
  readonly routes?: (backendUrl: string) => Readonly<Record<string, unknown>>;
  /** Whether the backend answers at the end of a request, or at the end of its head. */
  readonly answerAt?: 'request' | 'head';
}

export interface Wire {
  readonly backend: Backend;
  /** Of the gateway. */
  readonly port: number;
  readonly adminPort: number;
  /** Connected to the gateway. */
  readonly client: RawClient;
}

/** A client, a gateway and a backend that answers `/v1` by `script`; closed at the end of the test. */
export async function startWire(
  script: Answer = okAnswer,
  { version = {}, routes = () => ({}), answerAt = 'request', ...settings }: WireSettings = {},
): Promise<Wire> {
  const backend = await startBackend(script, { at: answerAt });
  const { port, adminPort } = await startTestGateway(
    { '/v1': { upstream: backend.url, ...version }, ...routes(backend.url) },
    settings,
  );
  return { backend, port, adminPort, client: await connectTo(port) };
}

/** How many requests of `/v1` wait because a limit is reached. */
export async function waitingAt(adminPort: number): Promise<number | undefined> {
  return (await statusOfV1(adminPort))?.waiting;
}

/** How many requests of `/v1` are in flight. */
export async function inFlightAt(adminPort: number): Promise<number | undefined> {
  return (await statusOfV1(adminPort))?.in_flight;
}

async function statusOfV1(adminPort: number) {
  const response = await fetch(`http://127.0.0.1:${adminPort}/api/status`);
  const { versions } = (await response.json()) as {
    versions: { version: string; waiting: number; in_flight: number }[];
  };
  return versions.find(({ version }) => version === 'v1');
}
