import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import { Session } from 'node:inspector/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { snapshotFrom } from '../gateway/config/load.ts';
import { run } from '../gateway/process/cli/run.ts';
import { startGateway } from '../gateway/process/runtime/gateway.ts';
import {
  edgesPerThousandLines,
  importCycles,
  longestChain,
  readImportGraph,
  smallSingleImporterFiles,
} from '../test/support/importGraph.ts';

// Prints figures about the source files and their imports, and how many files run in two typical tasks. With `--files`, it also
// lists the files behind these figures.

const printFiles = process.argv.includes('--files');
const root = fileURLToPath(new URL('..', import.meta.url));

// The reader of the output may close the pipe early, as in `npm run shape | head`. The remaining output is lost.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const profiler = new Session();
profiler.connect();
await profiler.post('Profiler.enable');
await profiler.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

const graph = readImportGraph('gateway');
const sizes = [...graph.lines.values()].sort((one, other) => one - other);
const chain = longestChain(graph);
const small = smallSingleImporterFiles(graph, 40);
const typeCycles = importCycles(graph, { types: true });

print('source files', graph.files.length);
print(
  'lines',
  sizes.reduce((sum, size) => sum + size, 0),
);
print('median lines of a file', sizes[sizes.length >> 1] ?? 0);
print('import edges per 1,000 lines', edgesPerThousandLines(graph).toFixed(1));
print('longest import chain', chain.length, chain);
print('files below 40 lines with one importer', small.length, small);
print('value cycles', importCycles(graph, { types: false }).length);
print('cycles with type imports', typeCycles.length, typeCycles);

const forCompat = await filesRunByCompat();
print('files run by compat --format sarif', forCompat.length, forCompat);
const forGet = await filesRunByGet();
print('files run by one GET', forGet.length, forGet);

function print(label: string, figure: number | string, files: readonly string[] = []): void {
  process.stdout.write(`${label.padEnd(40)} ${figure}\n`);
  if (printFiles) for (const file of files) process.stdout.write(`    ${file}\n`);
}

/** The files of the gateway in which a function ran since the last call. */
async function takeFilesRun(): Promise<string[]> {
  const { result } = await profiler.post('Profiler.takePreciseCoverage');
  return (
    result
      .filter(({ url }) => url.startsWith('file://'))
      .map(({ url, functions }) => ({ file: fileURLToPath(url).slice(root.length), functions }))
      .filter(({ file }) => file.startsWith('gateway/'))
      // The range at offset 0 is the module itself. The first range of a function covers all of it.
      .filter(({ functions }) => functions.some(({ ranges: [body] }) => body && body.startOffset > 0 && body.count > 0))
      .map(({ file }) => file)
      .sort()
  );
}

/** A contract whose orders have these properties. */
function contractWith(properties: string): string {
  return `openapi: 3.1.0
info: { title: Orders, version: 1.0.0 }
paths:
  /orders/{id}:
    get:
      operationId: readOrder
      parameters:
        - { name: id, in: path, required: true, schema: { type: string } }
        - { name: lang, in: query, schema: { type: string, enum: [de, en] } }
      responses:
        '200':
          description: An order.
          content:
            application/json:
              schema: { $ref: '#/components/schemas/Order' }
    put:
      parameters:
        - { name: id, in: path, required: true, schema: { type: string } }
      requestBody:
        content:
          application/json:
            schema: { type: object, properties: { count: { type: integer, minimum: 1 } } }
      responses:
        '204': { description: Changed. }
components:
  schemas:
    Order: { type: object, required: [id], properties: ${properties} }
`;
}

/** Compares two contracts that differ in one field of one response. */
async function filesRunByCompat(): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'shape-'));
  writeFileSync(join(folder, 'old.yaml'), contractWith('{ id: { type: string }, note: { type: string } }'));
  writeFileSync(join(folder, 'new.yaml'), contractWith('{ id: { type: string } }'));
  await takeFilesRun();
  let sarif = '';
  const write = (text: string | Uint8Array): boolean => {
    sarif += String(text);
    return true;
  };
  await run(['compat', 'old.yaml', 'new.yaml', '--format', 'sarif'], {
    stdout: Object.assign(Object.create(process.stdout), { write }),
    stderr: process.stderr,
    env: {},
    cwd: folder,
    stdin: async () => '',
    stdinIsTTY: false,
  });
  const files = await takeFilesRun();
  rmSync(folder, { recursive: true });
  if (!sarif.includes('response-field-removed')) throw new Error(`compat did not find the removed field: ${sarif}`);
  return files;
}

/** The files that run for a GET of a deprecated version on a warm connection. Files that run only in a timer are left out. */
async function filesRunByGet(): Promise<string[]> {
  const backend = createServer((_req, res) => res.end('hello')).listen(0, '127.0.0.1');
  await once(backend, 'listening');
  const { port } = backend.address() as AddressInfo;
  const gateway = await startGateway(
    snapshotFrom({
      gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' },
      routes: {
        '/v1': {
          upstream: `http://127.0.0.1:${port}`,
          prefix: 'strip',
          deprecation: '2026-01-01',
          sunset: '2099-01-01',
        },
        '/v2': { upstream: `http://127.0.0.1:${port}` },
      },
    }),
  );
  const sendGet = async (): Promise<void> => {
    const request = get(`http://127.0.0.1:${gateway.port}/v1/hello`);
    const [response] = await once(request, 'response');
    response.resume();
    await once(response, 'end');
    if (response.statusCode !== 200) throw new Error(`GET /v1/hello was answered with ${response.statusCode}`);
  };
  for (let number = 0; number < 20; number += 1) await sendGet();
  const timesRun = new Map<string, number>();
  for (let number = 0; number < 5; number += 1) {
    await takeFilesRun();
    await sendGet();
    for (const file of await takeFilesRun()) timesRun.set(file, (timesRun.get(file) ?? 0) + 1);
  }
  await gateway.close();
  backend.close();
  return [...timesRun]
    .filter(([, times]) => times >= 3)
    .map(([file]) => file)
    .sort();
}
