import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll } from 'vitest';
import { parseConfig } from '../../gateway/config/load.ts';
import { prepareAdaptersAndGrease } from '../../gateway/process/runtime/adapterCheck.ts';
import { startGateway } from '../../gateway/process/runtime/gateway.ts';
import { createApp as createV1 } from '../../services/v1/app.ts';
import { createApp as createV2 } from '../../services/v2/app.ts';
import { refusedUrl } from '../support/gateway.ts';
import { type Service, start } from './start.ts';

/** The two ways in which clients get v1, each with a fresh menu for each test. */
export const hosts: {
  readonly name: string;
  readonly isAdapted: boolean;
  readonly use: () => () => Promise<Service>;
}[] = [
  { name: 'from its own backend', isAdapted: false, use: () => () => start(createV1()) },
  { name: 'from the backend of v2, through examples/adapter.yaml', isAdapted: true, use: useAdaptedV1 },
];

/** Starts a gateway for the tests of a block. Nothing listens at the upstream of v1. */
function useAdaptedV1(): () => Promise<Service> {
  let app: RequestListener = createV2();
  const backend = createServer((req, res) => app(req, res));
  let gateway: Awaited<ReturnType<typeof startGateway>>;
  beforeAll(async () => {
    await new Promise<void>((listening) => backend.listen(0, '127.0.0.1', listening));
    const v2 = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`;
    const text = readFileSync('examples/adapter.yaml', 'utf8').replace(/^usage:\n.*\n/m, '');
    const env = { V1_URL: await refusedUrl(), V2_URL: v2 };
    const overrides = { listen: '127.0.0.1:0', admin: '127.0.0.1:0' };
    const { snapshot, faults } = await prepareAdaptersAndGrease(
      parseConfig(text, 'examples/adapter.yaml', { env, overrides }),
    );
    if (!snapshot) throw new Error(JSON.stringify(faults));
    gateway = await startGateway(snapshot);
  });
  afterAll(async () => {
    await gateway.close();
    backend.close();
    backend.closeAllConnections();
  });
  return async () => {
    app = createV2();
    const url = `http://127.0.0.1:${gateway.port}`;
    return {
      url: `${url}/v1`,
      async ask(path, init) {
        // A link of an earlier response has the version.
        const response = await fetch(path.startsWith('/v1/') ? url + path : `${url}/v1${path}`, init);
        return { status: response.status, headers: response.headers, text: await response.text() };
      },
    };
  };
}
