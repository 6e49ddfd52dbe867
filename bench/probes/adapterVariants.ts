/**
 * node adapterVariants.ts PORT BACKEND_PORT FOLDER: one gateway that changes every 0.6 s how it serves /v1: from the backend as it
 * is, or through an adapter. Writes the CPU time and the requests of each variant to FOLDER/figures.json, once a second. SIGUSR2
 * resets both.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PreparedAdapter } from '../../gateway/config/adapterSettings.ts';
import { snapshotFrom } from '../../gateway/config/load.ts';
import type { Snapshot } from '../../gateway/config/snapshot.ts';
import { checkCodeOf } from '../../gateway/contract/schema/validator.ts';
import { keepYoungGenerationSmall } from '../../gateway/process/cli/start/process.ts';
import { alternate, type Variant } from '../support/alternation.ts';
import { path } from '../support/workload.ts';

const [port = '', backendPort, folder = ''] = process.argv.slice(2);
const upstream = `http://127.0.0.1:${backendPort}`;

keepYoungGenerationSmall();
const contract = { openapi: '3.1.0', info: { title: 'T', version: '1' } };
const get = { responses: { 200: { description: 'OK' } } };
writeFileSync(join(folder, 'v1.json'), JSON.stringify({ ...contract, paths: { [path]: { get } } }));
writeFileSync(join(folder, 'v2.json'), JSON.stringify({ ...contract, paths: { '/list': { get } } }));

const item = {
  type: 'object',
  required: ['id', 'name', 'price'],
  properties: { id: { type: 'integer' }, name: { type: 'string' }, price: { type: 'string' }, tags: { type: 'array' } },
};
const list = { type: 'object', required: ['drinks'], properties: { drinks: { type: 'array', items: item } } };
/** What the gateway computes from complete contracts when it loads routes.yaml. Here it is written by hand. */
const prepared: PreparedAdapter = {
  hash: 'abcdef012345',
  checks: checkCodeOf({ list }, {}),
  otherTypes: new Map(),
  routes: new Map([
    [
      `GET ${path}`,
      {
        responses: new Map([['200', new Map([['application/json', 'list']])]]),
        // No version has parameters.
        parameters: { own: new Map(), other: new Map() },
      },
    ],
  ]),
};
const change = [{ rename: { title: 'name' } }, { convert: { price: 'decimal_string(2)' } }, { drop: 'glass' }];
const routes = {
  [`GET ${path}`]: {
    to: 'GET /list',
    response: { 200: [{ rename: { cocktails: 'drinks' } }, { each: { drinks: change } }] },
  },
};

function variant(name: string, v1: object): Variant {
  const document = {
    routes: { '/v1': { upstream, contract: 'v1.json', ...v1 }, '/v2': { upstream, contract: 'v2.json' } },
    gateway: { listen: `127.0.0.1:${port}` },
  };
  return { name, snapshot: withPrepared(snapshotFrom(document, folder)), recorder: undefined };
}

function withPrepared(snapshot: Snapshot): Snapshot {
  const sortedVersions = snapshot.sortedVersions.map((one) => {
    return one.adapter ? { ...one, adapter: { ...one.adapter, prepared } } : one;
  });
  return { ...snapshot, sortedVersions, versions: new Map(sortedVersions.map((one) => [one.name, one])) };
}

await alternate(
  [
    variant('from the backend as it is', {}),
    variant('through an adapter', { adapter: { from: '/v2', mode: 'serve', routes } }),
  ],
  folder,
);
