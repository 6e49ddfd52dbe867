import { type Answer, type Backend, okAnswer, startBackend } from './backend.ts';
import { startTestGateway, type TestSettings } from './gateway.ts';
import { connectTo, type RawClient } from './rawClient.ts';

export interface WireSettings extends TestSettings {
  /** More settings of `/v1`. They may replace `upstream`. */
  readonly version?: Readonly<Record<string, unknown>>;
  /** More routes. They may replace `/v1`. */
  readonly routes?: (backendUrl: string) => Readonly<Record<string, unknown>>;
  /** What the backend must have received before it responds. */
  readonly answerAt?: 'request' | 'head';
}

export interface Wire {
  readonly backend: Backend;
  /** The port of the gateway. */
  readonly port: number;
  readonly adminPort: number;
  /** Connected to the gateway. */
  readonly client: RawClient;
}

/** Starts a client, a gateway and a backend that answers `/v1` with `script`; closed at the end of the test. */
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

/** The number of requests to a version in its admission queue. */
export async function waitingAt(adminPort: number, version = 'v1'): Promise<number | undefined> {
  return (await statusOf(version, adminPort))?.waiting;
}

/** How many requests of `/v1` are in flight. */
export async function inFlightAt(adminPort: number): Promise<number | undefined> {
  return (await statusOf('v1', adminPort))?.in_flight;
}

async function statusOf(name: string, adminPort: number) {
  const response = await fetch(`http://127.0.0.1:${adminPort}/api/status`);
  const { versions } = (await response.json()) as {
    versions: { version: string; waiting: number; in_flight: number }[];
  };
  return versions.find(({ version }) => version === name);
}
