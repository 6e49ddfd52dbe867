import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  edgesPerThousandLines,
  importCycles,
  longestChain,
  readImportGraph,
  smallSingleImporterFiles,
} from './support/importGraph.ts';
import { filesBelow, type Import, importsOf, threadEntriesOf } from './support/imports.ts';

/** The wings in import order, each with its folders: imports point down; folders of one line meet only by their types. See ARCHITECTURE.md. */
const wings: Readonly<Record<string, readonly (readonly string[])[]>> = {
  process: [['main'], ['cli', 'index', 'express'], ['runtime']],
  operate: [['admin', 'discovery'], ['notify'], ['fleet', 'otlp']],
  proxy: [['pipeline'], ['forwarding', 'trial'], ['upstream']],
  contracts: [['shadow', 'grease'], ['adapters'], ['compat']],
  versions: [['plan'], ['restrictions', 'selfService', 'retirement', 'editWatch'], ['lifecycle']],
  usage: [['usage', 'observability'], ['evidence']],
  base: [['config', 'routing'], ['contract'], ['problems', 'http1', 'shared']],
};
const lines = Object.values(wings).flat();

/** Types that a wing takes from one above it: of exchanges, of the gateways of a fleet, and the stage of a version. */
const typesFromAbove = ['contracts ← forwarding', 'contracts ← upstream', 'versions ← fleet', 'usage ← lifecycle'];

/** The parts of these folders form a pipeline: each imports only those before it, and files next to them. */
const pipelines = {
  contract: ['failure.ts', 'source', 'document', 'schema', 'routes.ts'],
  'contracts/compat': ['diff', 'rules', 'judge', 'report', 'guide'],
  'contracts/adapters': ['serving', 'proof', 'draft'],
  'contracts/shadow': ['compare', 'sampling', 'report', 'replay'],
};

/** Who may import a package that decides how things are built. */
const owners: Record<string, readonly string[]> = {
  express: ['admin', 'discovery'],
  helmet: ['admin'],
  yaml: ['shared', 'config', 'contract'],
  zod: ['config'],
  commander: ['cli'],
  pg: ['fleet'],
  '@opentelemetry/api': ['otlp'],
  '@opentelemetry/exporter-metrics-otlp-proto': ['otlp'],
  '@opentelemetry/exporter-trace-otlp-proto': ['otlp'],
  '@opentelemetry/resources': ['otlp'],
  'ajv/dist/2020.js': ['contract'],
  'ajv/dist/standalone/index.js': ['contract'],
  'ajv-formats': [],
  'ajv-formats/dist/formats.js': ['contract'],
  undici: ['shared'],
  'sonic-boom': ['observability'],
  'prom-client': ['observability'],
  'ipaddr.js': ['config', 'pipeline', 'shared'],
  // The dashboard serves its files; no module imports it.
  uplot: [],
};

const files = filesBelow('gateway');
const imports = files.flatMap(importsOf);
const graph = readImportGraph('gateway');

describe('the gateway', () => {
  const loads = [...imports.filter((one) => one.relative), ...files.flatMap(threadEntriesOf)];
  it.each(loads.map((one) => [`${one.from} → ${one.to}`, one] as const))('imports downwards: %s', (_name, one) =>
    expect(isDownwards(one), 'imports point down the list in ARCHITECTURE.md').toBe(true),
  );

  it.each(Object.entries(pipelines))('imports in the order of the parts of %s', (folder, parts) => {
    const stageOf = (file: string): number =>
      parts.indexOf(file.slice(`gateway/${folder}/`.length).split('/')[0] ?? '');
    const strays = imports
      .filter(({ from, to }) => [from, to].every((file) => file.startsWith(`gateway/${folder}/`)))
      .filter(({ from, to }) => stageOf(to) > stageOf(from))
      .map(({ from, to }) => `${from} imports ${to}`);
    expect(strays).toEqual([]);
    expect(readdirSync(`gateway/${folder}`).toSorted()).toEqual(parts.toSorted());
  });

  it('leaves each package to the folder that owns it', () => {
    const strays = imports
      .filter((one) => !one.relative && owners[one.to] !== undefined && !owners[one.to]?.includes(moduleOf(one.from)))
      .map((one) => `${one.from} imports ${one.to}`);
    expect(strays).toEqual([]);
  });

  it('does not load Express for the middleware of an app that has its own', () => {
    const loaded = new Set(['gateway/express.ts']);
    for (const file of loaded) {
      for (const one of imports) if (one.from === file && !one.typeOnly) loaded.add(one.to);
    }
    expect(loaded.size).toBeGreaterThan(50);
    expect(loaded).not.toContain('express');
  });

  it('does not load the export of spans, the store of a fleet, adapters or grease before they are needed', () => {
    const entries = [
      'gateway/main.ts',
      'gateway/process/cli/commands/start.ts',
      'gateway/process/runtime/gateway.ts',
      'gateway/index.ts',
    ];
    const loaded = loadedBy([
      ...entries,
      'gateway/operate/admin/reading/worker.ts',
      'gateway/process/cli/commands/usage.ts',
    ]);
    expect(loaded.length).toBeGreaterThan(100);
    expect(
      loaded.filter((file) => /opentelemetry|^pg$|^ajv|^gateway\/\w+\/(?:otlp|fleet|adapters|grease)\//.test(file)),
    ).toEqual([]);
  });

  it('starts without the packages of pages and metrics, and without undici', () => {
    const loaded = loadedBy([
      'gateway/main.ts',
      'gateway/process/cli/commands/start.ts',
      'gateway/process/runtime/gateway.ts',
    ]);
    expect(loaded.length).toBeGreaterThan(100);
    expect(loaded.filter((file) => ['express', 'helmet', 'prom-client', 'undici'].includes(file))).toEqual([]);
  });

  it('loads undici only when something is requested, also in threads and commands', () => {
    const loading = imports.filter(({ to, typeOnly, isDynamic }) => to === 'undici' && !typeOnly && !isDynamic);
    expect(loading).toEqual([]);
  });

  // What the gateway requests itself has limits, proxies and a guard in one place. Clients have node's own HTTP (decisions 1 and 20).
  it('requests with gateway/shared/httpClient.ts, except for forwarded requests and their copies', () => {
    const requesting = files.filter((file) => {
      const text = readFileSync(file, 'utf8');
      return (
        /(?<![.#\w])fetch\(/.test(text.replace(/async fetch\(/g, '')) || /\bhttps?\)?\.(?:request|get)\(/.test(text)
      );
    });
    expect(requesting).toEqual(['gateway/contracts/shadow/sampling/copySender.ts']);
  });

  it('imports only types from node:http, because an import of its values loads the client of fetch', () => {
    const strays = imports.filter(({ to, typeOnly }) => to === 'node:http' && !typeOnly).map(({ from }) => from);
    expect(strays).toEqual([]);
  });

  it('finds files of the package in one module, because the build moves all others', () => {
    const finding = files.filter((file) => /new URL\([^)]*import\.meta\.url/.test(readFileSync(file, 'utf8')));
    // Writes the JSON Schema of a checkout; no other module imports it.
    expect(finding).toEqual(['gateway/config/writeSchema.ts', 'gateway/shared/packageFiles.ts']);
  });

  it('has no import cycle, not even of types', () => {
    expect(importCycles(graph, { types: true })).toEqual([]);
  });

  // A reader follows imports. These limits keep the tree in few files of one subject each; `npm run shape` prints the figures.
  it('has few imports for its size', () => {
    expect(edgesPerThousandLines(graph)).toBeLessThanOrEqual(36);
  });

  it('has short import chains', () => {
    expect(longestChain(graph).length).toBeLessThanOrEqual(16);
  });

  it('has few small files with one importer', () => {
    expect(smallSingleImporterFiles(graph, 40).length).toBeLessThanOrEqual(5);
  });

  it('declares each exported type name once', () => {
    const declared = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/^export (?:abstract )?(?:interface|type|class) (\w+)/gm)].map(
        ([, name]) => name,
      ),
    );
    expect(declared.filter((name, index) => declared.indexOf(name) !== index)).toEqual([]);
  });

  it('declares each exported function name once', () => {
    const declared = files.flatMap((file) =>
      // The declarations of an overload have one name.
      [
        ...new Set(
          [...readFileSync(file, 'utf8').matchAll(/^export (?:async )?function\*? (\w+)/gm)].map(([, name]) => name),
        ),
      ],
    );
    expect(declared.filter((name, index) => declared.indexOf(name) !== index)).toEqual([]);
  });

  it.each(files)('%s keeps to one subject: at most 500 lines', (file) => {
    expect(readFileSync(file, 'utf8').split('\n').length).toBeLessThanOrEqual(501);
  });

  it('has no barrel files', () => {
    const barrels = files.filter((file) => /^export \* from/m.test(readFileSync(file, 'utf8')));
    expect(barrels).toEqual([]);
  });

  // Whether calls may be missing is decided in one place, so that no answer says yes where another one does not know.
  it('asks what the ledger covers only through gateway/usage/callFacts.ts', () => {
    const asking = files.filter((file) => /\.coverage\(/.test(readFileSync(file, 'utf8')));
    expect(asking).toEqual(['gateway/usage/callFacts.ts', 'gateway/usage/ledger/reader.ts']);
  });

  it('compares the beginning of coverage with a period only in gateway/usage/evidence', () => {
    const assets = readdirSync('gateway/operate/admin/dashboard/assets').filter((name) => name.endsWith('.js'));
    const all = [...files, ...assets.map((name) => `gateway/operate/admin/dashboard/assets/${name}`)];
    const start = String.raw`[\w.?]*(?:covered_?[sS]ince|\bcovered\b|coverage\.since)[\w.?()]*`;
    const comparison = new RegExp(
      String.raw`${start} *[<>]=? |[^=] [<>]=? *${start}|Math\.(?:min|max)\([^\n]*${start}`,
    );
    const comparing = all.filter((file) => comparison.test(readFileSync(file, 'utf8')));
    expect(comparing).toEqual(['gateway/usage/evidence/callEvidence.ts', 'gateway/usage/evidence/coverage.ts']);
  });

  // State belongs to the object that it describes: a class, or a property of node's own object.
  it('keeps no state in a WeakMap of a module', () => {
    const declaration = /^(?:export )?(?:const|let) .*new Weak(?:Map|Set)\b/m;
    expect(files.filter((file) => declaration.test(readFileSync(file, 'utf8')))).toEqual([]);
  });

  // A command returns its exit code. Only a shutdown that something blocks may end the process, and it does so here.
  it('ends the process in one place only', () => {
    const ending = /process\.(?:exit|reallyExit|abort|execve)\b/;
    expect(files.filter((file) => ending.test(readFileSync(file, 'utf8')))).toEqual(['gateway/shared/endProcess.ts']);
  });

  it('has steps that know no socket, no Express and no client library', () => {
    const forbidden = /^(?:node:(?:net|http|https|tls)|express|undici)$/;
    const steps = importsOf('gateway/proxy/pipeline/steps.ts').filter((one) => one.relative && !one.typeOnly);
    expect(steps.length).toBeGreaterThan(2);
    const strays = steps
      .flatMap((step) => importsOf(step.to))
      .filter((one) => !one.typeOnly && forbidden.test(one.to))
      .map((one) => `${one.from} imports ${one.to}`);
    expect(strays).toEqual([]);
  });
});

describe('the services', () => {
  it.each(['services/v1', 'services/v2'])('%s imports nothing from outside its folder', (folder) => {
    const strays = filesBelow(folder)
      .flatMap(importsOf)
      .filter((one) => one.relative && !one.to.startsWith(`${folder}/`));
    expect(strays).toEqual([]);
  });
});

/** The entries, and the files and packages that they import before anything runs. */
function loadedBy(entries: readonly string[]): string[] {
  const loaded = new Set(entries);
  for (const file of loaded) {
    for (const one of imports) if (one.from === file && !one.typeOnly && !one.isDynamic) loaded.add(one.to);
  }
  return [...loaded];
}

/** `gateway/proxy/forwarding/http.ts` → `forwarding`; `gateway/usage/report/csv.ts` → `usage`; `gateway/main.ts` → `main`. */
function moduleOf(file: string): string {
  const [, outer = '', inner = ''] = file.split('/').map((part) => part.replace(/\.ts$/, ''));
  return wings[outer]?.flat().includes(inner) ? inner : outer;
}

function wingOf(module: string): string {
  return Object.keys(wings).find((wing) => wings[wing]?.flat().includes(module)) ?? '';
}

function lineOf(module: string): number {
  const line = lines.findIndex((names) => names.includes(module));
  if (line === -1) throw new Error(`${module} stands nowhere in the list: add it to ARCHITECTURE.md and here`);
  return line;
}

function isDownwards({ from, to, typeOnly }: Import): boolean {
  const [importer, imported] = [moduleOf(from), moduleOf(to)];
  if (importer === imported) return true;
  const distance = lineOf(imported) - lineOf(importer);
  if (!typeOnly) return distance > 0;
  return distance >= 0 || typesFromAbove.includes(`${wingOf(importer)} ← ${imported}`);
}
