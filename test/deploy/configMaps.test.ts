import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import type { IConfigMap } from 'kubernetes-models/v1/ConfigMap';
import { describe, expect, it } from 'vitest';
import { runIn } from '../process/cli/io.ts';
import { makeAuthority } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { gatewayMain } from '../support/gatewayMain.ts';
import { run } from '../support/process.ts';
import { hasKubectl, type Manifest, objectNamed, overlay } from './support/kustomize.ts';
import { mountConfigMaps, swapFiles } from './support/mountedConfig.ts';

const env = { ADMIN_TOKEN: 'a'.repeat(48), HOSTNAME: 'version-gateway-0' };

/** The folders that the gateway of an overlay sees, and the files of its ConfigMaps. */
async function mounted(name: string) {
  const objects = await overlay(name);
  const kind = name === 'fleet' ? 'StatefulSet' : 'Deployment';
  const { spec } = objectNamed<Manifest & IDeployment>(objects, kind, 'version-gateway');
  const maps = objects.filter((object) => object.kind === 'ConfigMap') as (Manifest & IConfigMap)[];
  const files = new Map(maps.map(({ metadata, data = {} }) => [metadata.name, data]));
  const root = mountConfigMaps(spec?.template, files);
  return { root, config: join(root, 'app', 'config'), files };
}

describe.skipIf(!hasKubectl)('the files that the pods mount', () => {
  it.each(['single', 'fleet'])('are a valid configuration in the overlay %s', async (name) => {
    const { config, root } = await mounted(name);
    if (name === 'fleet') mountStoreSecret(root);
    const { code, stdout, stderr } = await runIn(config, ['check', '--strict', '--config', 'routes.yaml'], env);
    expect([code, stdout, stderr]).toEqual([0, expect.stringContaining('routes.yaml is valid.'), '']);
  });

  it('are needed: without the CA of the store the check fails', async () => {
    const { config } = await mounted('fleet');
    const { code, stdout } = await runIn(config, ['check', '--config', 'routes.yaml'], env);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/fleet\.store\n.*store\/ca\.crt cannot be read/)]);
  });

  it('are needed: without the contract of a version the check fails', async () => {
    const { config, files } = await mounted('single');
    swapFiles(join(config, '..', 'services', 'v1', 'contract'), {});
    const { code, stdout } = await runIn(config, ['check', '--config', 'routes.yaml'], env);
    expect([code, stdout]).toEqual([1, expect.stringContaining('services/v1/contract/openapi.yaml')]);
    expect(files.get('contract-v1')).toHaveProperty('openapi.yaml');
  });

  it('are followed when the kubelet swaps them, and a faulty file changes nothing', async () => {
    const { root, config, files } = await mounted('single');
    const routes = files.get('version-gateway')?.['routes.yaml'] ?? '';
    const args = [
      'start',
      '--config',
      join(config, 'routes.yaml'),
      '--listen',
      '127.0.0.1:0',
      '--admin',
      '127.0.0.1:0',
    ];
    const gateway = run(process.execPath, [gatewayMain, ...args], env);
    const [, url = ''] = await gateway.printed(/listens on (\S+)/);
    const sunset = async (): Promise<string> => {
      const response = await fetch(url, { headers: { accept: 'application/json' } });
      const { versions } = (await response.json()) as { versions: { sunset: string }[] };
      return versions[0]?.sunset ?? '';
    };
    expect(await sunset()).toContain('2029-06-30');

    swapFiles(config, { 'routes.yaml': routes.replace('sunset: 2029', 'sunset: 2030') });
    await eventually(async () => expect(await sunset()).toContain('2030-06-30'));

    swapFiles(config, { 'routes.yaml': routes.replace('prefix: strip', 'prefix: stripp') });
    await gateway.printed(/stripp/);
    expect(await sunset()).toContain('2030-06-30');

    swapFiles(config, { 'routes.yaml': routes.replace('sunset: 2029', 'sunset: 2031') });
    await eventually(async () => expect(await sunset()).toContain('2031-06-30'));

    const contract = files.get('contract-v1')?.['openapi.yaml'] ?? '';
    const edited = contract.replace(/title: .*/, 'title: Swapped');
    swapFiles(join(root, 'app', 'services', 'v1', 'contract'), { 'openapi.yaml': edited });
    await eventually(async () =>
      expect(await (await fetch(`${url}/contracts/v1.yaml`)).text()).toContain('title: Swapped'),
    );
  });
});

/** The keys of the Secret version-gateway-store, as docs/kubernetes.md makes it. */
function mountStoreSecret(root: string): void {
  const folder = join(root, 'app', 'store');
  writeFileSync(join(folder, 'ca.crt'), makeAuthority(root, 'ca').cert);
  writeFileSync(join(folder, 'password'), 'secret');
}
