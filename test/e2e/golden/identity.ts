import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import { configHash } from '../../../gateway/config/acceptedConfig.ts';
import { parseConfig } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { startOfRun } from './masks.ts';

/**
 * The fingerprint and the hash of the `routes.yaml` in a folder, with fixed ports. The fingerprint also covers the paths of other files,
 * which differ from checkout to checkout, so it is that of the file without its contracts and names, and
 * without what needs a contract.
 */
export function identityText(folder: string, variables: readonly string[]): string {
  const file = readFileSync(join(folder, 'routes.yaml'), 'utf8');
  const urls = variables.map((name, index) => [
    name,
    `http${name.endsWith('TLS') ? 's' : ''}://127.0.0.1:${3000 + index}`,
  ]);
  const env = Object.fromEntries(urls);
  const hash = configHash(parsed(file, join(folder, 'routes.yaml'), env));
  const { fingerprint } = parsed(withoutFiles(file), '/golden/routes.yaml', env);
  return `configuration hash ${hash}\nfingerprint without other files ${fingerprint}\n`;
}

function parsed(text: string, file: string, env: NodeJS.ProcessEnv): Snapshot {
  const { snapshot, faults } = parseConfig(text, file, { env, clock: { now: () => startOfRun } });
  if (!snapshot) throw new Error(JSON.stringify(faults, null, 2));
  return snapshot;
}

function withoutFiles(file: string): string {
  const document = parseDocument(file);
  const { routes } = document.toJS() as { routes: Record<string, { adapter?: unknown; upstream?: unknown }> };
  for (const [name, route] of Object.entries(routes)) {
    if (typeof route === 'string') continue;
    for (const key of ['contract', 'guide', 'adapter', 'drift']) document.deleteIn(['routes', name, key]);
    // A version that an adapter serves has no upstream.
    if (route.adapter && !route.upstream) document.setIn(['routes', name, 'upstream'], 'http://127.0.0.1:3100');
  }
  document.deleteIn(['usage', 'names']);
  return String(document);
}
