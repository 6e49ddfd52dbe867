import { readFileSync } from 'node:fs';
import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import type { IStatefulSet } from 'kubernetes-models/apps/v1/StatefulSet';
import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import type { IConfigMap } from 'kubernetes-models/v1/ConfigMap';
import type { IService } from 'kubernetes-models/v1/Service';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { hasKubectl, type Manifest, objectNamed, overlay } from './support/kustomize.ts';
import { schemaFaults } from './support/schema.ts';

const overlays = ['single', 'fleet'] as const;
type Workload = Manifest & (IDeployment | IStatefulSet);

if (!hasKubectl) console.log('The Kubernetes manifests are NOT CHECKED: their kubectl runs on Linux on x64 only.');

describe.skipIf(!hasKubectl).each(overlays)('the overlay %s', (name) => {
  let objects: Manifest[] = [];
  let gateway: Workload;
  beforeAll(async () => {
    objects = await overlay(name, true);
    gateway = objectNamed(objects, name === 'fleet' ? 'StatefulSet' : 'Deployment', 'version-gateway');
  });
  const workloads = (): Workload[] =>
    objects.filter(({ kind }) => /^(?:Deployment|StatefulSet)$/.test(kind)) as Workload[];

  it('puts everything into one namespace, and contains no secret', () => {
    const named = objects.filter(({ kind }) => kind !== 'Namespace');
    expect(new Set(named.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['version-gateway']));
    expect(objects.filter(({ kind }) => kind === 'Secret')).toEqual([]);
  });

  it('runs the images of this release', () => {
    const versionOf = (file: string): string => JSON.parse(readFileSync(file, 'utf8')).version;
    const images = workloads().map(({ spec }) => spec?.template.spec?.containers[0]?.image);
    expect(images.sort()).toEqual([
      `cocktails-v1:${versionOf('services/v1/package.json')}`,
      `cocktails-v2:${versionOf('services/v2/package.json')}`,
      `version-gateway:${versionOf('package.json')}`,
    ]);
  });

  it('confines every container as the Pod Security Standard restricted demands', () => {
    for (const { spec } of workloads()) {
      const pod = spec?.template.spec;
      expect(pod?.automountServiceAccountToken).toBe(false);
      expect(pod?.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      for (const container of pod?.containers ?? []) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(container.resources?.limits).toHaveProperty('memory');
      }
    }
  });

  it('selects pods that exist, by labels that they have, at ports that they have', () => {
    const pods = workloads().map(({ spec }) => spec?.template);
    const services = objects.filter(({ kind }) => kind === 'Service') as (Manifest & IService)[];
    expect(services.map(({ metadata }) => metadata.name).sort()).toEqual(['gateways', 'v1', 'v2', 'version-gateway']);
    for (const { spec } of services) {
      const selected = pods.filter((pod) => isSubset(spec?.selector, pod?.metadata?.labels));
      expect(selected).toHaveLength(1);
      const ports = selected[0]?.spec?.containers[0]?.ports?.map((port) => port.name);
      for (const { targetPort } of spec?.ports ?? []) expect(ports).toContain(targetPort);
    }
    for (const { spec } of workloads())
      expect(isSubset(spec?.selector.matchLabels, spec?.template.metadata?.labels)).toBe(true);
  });

  it('gives the gateway its drain and 15 s to end, including a pause before the drain', () => {
    const pod = gateway.spec?.template.spec;
    const routes =
      objectNamed<Manifest & IConfigMap>(objects, 'ConfigMap', 'version-gateway').data?.['routes.yaml'] ?? '';
    // The default is used, which the reference states.
    expect(routes).not.toMatch(/^ +drain:/m);
    const drain = Number(/^\| `drain` \| `(\d+)s` \|/m.exec(readFileSync('docs/routes.md', 'utf8'))?.[1]);
    const pause = pod?.containers[0]?.lifecycle?.preStop?.sleep?.seconds ?? 0;
    expect(pause).toBeGreaterThan(0);
    expect(pod?.terminationGracePeriodSeconds).toBe(drain + 15);
    // The process ends within its drain and 5 s.
    expect(pause + drain + 5).toBeLessThan(drain + 15);
  });

  it('probes the admin listener: alive is not the same as ready', () => {
    const container = gateway.spec?.template.spec?.containers[0];
    const paths = [container?.startupProbe, container?.readinessProbe, container?.livenessProbe].map(
      (probe) => `${probe?.httpGet?.port} ${probe?.httpGet?.path}`,
    );
    expect(paths).toEqual(['admin /healthz', 'admin /readyz', 'admin /healthz']);
  });

  it('mounts folders, and keeps the names of its ConfigMaps', () => {
    const mounts = gateway.spec?.template.spec?.containers[0]?.volumeMounts ?? [];
    expect(mounts.filter((mount) => mount.subPath !== undefined)).toEqual([]);
    const maps = objects.filter(({ kind }) => kind === 'ConfigMap').map(({ metadata }) => metadata.name);
    expect(maps.sort()).toEqual(['contract-v1', 'contract-v2', 'version-gateway', 'version-gateway-dashboard']);
  });

  it('opens the admin listener to monitoring only', () => {
    const { spec } = objectNamed<Manifest & INetworkPolicy>(objects, 'NetworkPolicy', 'version-gateway');
    expect(spec?.ingress).toEqual([
      { ports: [{ port: 'http' }] },
      {
        ports: [{ port: 'admin' }],
        from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
      },
    ]);
  });

  it('lists each gateway by its address, ready or not', () => {
    expect(objectNamed<Manifest & IService>(objects, 'Service', 'gateways').spec).toMatchObject({
      clusterIP: 'None',
      publishNotReadyAddresses: true,
    });
  });
});

describe.skipIf(!hasKubectl)('the number of gateways', () => {
  it('is one in the overlay single, and a rollout ends the old gateway before it starts the new one', async () => {
    const objects = await overlay('single');
    const { spec } = objectNamed<Manifest & IDeployment>(objects, 'Deployment', 'version-gateway');
    expect([spec?.replicas, spec?.strategy]).toEqual([1, { type: 'Recreate' }]);
    const ledger = spec?.template.spec?.volumes?.find((volume) => volume.name === 'ledger');
    expect(ledger).toEqual({ name: 'ledger', persistentVolumeClaim: { claimName: 'ledger' } });
    expect(objects.some(({ kind }) => /Autoscaler|Budget/.test(kind))).toBe(false);
    expect(JSON.stringify(objects)).not.toContain('version-gateway-store');
  });

  it('is up to the autoscaler in the overlay fleet, which removes one at a time after 300 s', async () => {
    const objects = await overlay('fleet');
    const gateway = objectNamed<Workload>(objects, 'StatefulSet', 'version-gateway');
    expect(gateway.spec).not.toHaveProperty('replicas');
    const scaler = objectNamed<Manifest & IHorizontalPodAutoscaler>(
      objects,
      'HorizontalPodAutoscaler',
      'version-gateway',
    );
    expect(scaler.spec).toMatchObject({
      scaleTargetRef: { kind: 'StatefulSet', name: 'version-gateway' },
      minReplicas: 3,
      behavior: { scaleDown: { stabilizationWindowSeconds: 300 } },
    });
    const budget = objectNamed<Manifest & IPodDisruptionBudget>(objects, 'PodDisruptionBudget', 'version-gateway');
    expect(budget.spec).toMatchObject({ maxUnavailable: 1, selector: gateway.spec?.selector });
  });
});

describe.skipIf(!hasKubectl)('what a gateway of the overlay fleet remembers', () => {
  const statefulSet = async () =>
    objectNamed<Manifest & IStatefulSet>(await overlay('fleet'), 'StatefulSet', 'version-gateway').spec;

  it('is on a volume of its own, which it finds again after every kind of restart', async () => {
    const spec = await statefulSet();
    expect(spec?.serviceName).toBe('gateways');
    expect(spec?.volumeClaimTemplates?.map(({ metadata }) => metadata?.name)).toEqual(['ledger']);
    expect(spec?.persistentVolumeClaimRetentionPolicy).toEqual({ whenDeleted: 'Retain', whenScaled: 'Retain' });
    expect(spec?.template.spec?.volumes?.map(({ name }) => name)).not.toContain('ledger');
  });

  it('belongs to the name of its pod', async () => {
    const spec = await statefulSet();
    const hostname = spec?.template.spec?.containers[0]?.env?.find(({ name }) => name === 'HOSTNAME');
    expect(hostname?.valueFrom?.fieldRef?.fieldPath).toBe('metadata.name');
  });

  it('does not depend on a platform that marks gateways as gone, nor on gateways that serve without the store', () => {
    const { fleet } = parse(readFileSync('deploy/kubernetes/overlays/fleet/routes.yaml', 'utf8'));
    expect(Object.keys(fleet)).toEqual(['store', 'password_file', 'name']);
  });

  it.each(overlays)('is not in a folder that dies with the pod in the overlay %s', async (name) => {
    const objects = await overlay(name);
    const gateway = objectNamed<Workload>(objects, name === 'fleet' ? 'StatefulSet' : 'Deployment', 'version-gateway');
    expect(JSON.stringify(gateway)).not.toContain('emptyDir');
  });
});

describe.skipIf(!hasKubectl)('the Secret of the store', () => {
  it('is mounted as a folder that the gateway can read, and is not in the environment', async () => {
    const { spec } = objectNamed<Workload>(await overlay('fleet'), 'StatefulSet', 'version-gateway');
    const pod = spec?.template.spec;
    expect(pod?.volumes?.find(({ name }) => name === 'store')).toEqual({
      name: 'store',
      secret: { secretName: 'version-gateway-store', defaultMode: 0o440 },
    });
    // Kubernetes gives the files to this group.
    expect(pod?.securityContext).toMatchObject({ runAsGroup: 1000, fsGroup: 1000 });
    const [container] = pod?.containers ?? [];
    expect(container?.volumeMounts?.find(({ name }) => name === 'store')).toEqual({
      name: 'store',
      mountPath: '/app/store',
      readOnly: true,
    });
    expect(container?.env?.map(({ name }) => name).sort()).toEqual(['ADMIN_TOKEN', 'HOSTNAME']);
  });
});

describe.skipIf(!hasKubectl)('the check against the schemas', () => {
  const edits: readonly (readonly [fault: string, edit: (text: string) => string, word: string])[] = [
    ['an unknown key', (text) => text.replace('"replicas":1', '"replicaz":1'), 'replicaz'],
    ['an unknown key deep inside', (text) => text.replace('"runAsNonRoot"', '"runAsNonRut"'), 'runAsNonRut'],
    ['a wrong type', (text) => text.replace('"replicas":1', '"replicas":"one"'), 'replicas'],
    ['a missing key', (text) => text.replace('"name":"gateway",', ''), 'name'],
    ['an unknown kind', (text) => text.replace('"kind":"Deployment"', '"kind":"Deploiment"'), 'Deploiment'],
  ];
  /** The faults of each object of the overlays. */
  const allowed = new Map<string, string[][]>();
  /** The faults that each edit causes, and at the end those of the edited rule. */
  let caused: string[][] = [];

  // One check of all objects. Each needs a compiler that reads all models.
  beforeAll(async () => {
    const shipped = await Promise.all(overlays.map((name) => overlay(name, true)));
    const gateway = JSON.stringify(objectNamed(await overlay('single'), 'Deployment', 'version-gateway'));
    const rule = JSON.stringify(objectNamed(await overlay('single', true), 'PrometheusRule', 'version-gateway'));
    const edited = [...edits.map(([, edit]) => edit(gateway)), rule.replace('"expr"', '"exp"')];
    for (const text of edited) expect([gateway, rule]).not.toContain(text);
    const faults = await schemaFaults([...shipped.flat(), ...edited.map((text) => JSON.parse(text) as Manifest)]);
    for (const [at, name] of overlays.entries()) allowed.set(name, faults.splice(0, shipped[at]?.length));
    caused = faults;
  });

  it.each(overlays)('allows every object of the overlay %s', (name) => {
    expect(allowed.get(name)?.length).toBeGreaterThan(15);
    expect(allowed.get(name)?.flat()).toEqual([]);
  });

  it.each(edits.map(([fault, , word], at) => [fault, word, at] as const))('reports %s', (_fault, word, at) => {
    expect(caused[at]?.join('\n')).toContain(word);
  });

  it('reports an unknown key of the Prometheus Operator', () => {
    expect(caused).toHaveLength(edits.length + 1);
    expect(caused.at(-1)?.join('\n')).toContain('exp');
  });
});

function isSubset(labels: Record<string, string> | undefined, of: Record<string, string> | undefined): boolean {
  return Object.entries(labels ?? {}).every(([key, value]) => of?.[key] === value);
}
