import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { Compose } from './compose.ts';
import { outputOf } from './programs.ts';
import type { ComposeProject } from './setup.ts';
import { waitUntil } from './stack.ts';

interface Service {
  deploy?: Record<string, unknown>;
  healthcheck?: Record<string, unknown>;
  ports?: unknown;
  [key: string]: unknown;
}

interface Stack {
  services: Record<string, Service>;
  configs: Record<string, unknown>;
  [key: string]: unknown;
}

/** The names of the images that deploy/swarm/stack.yml runs, by the service that Compose builds them for. */
const images = { gateway: 'version-gateway:0.1.0', v1: 'cocktails-v1:1.0.0', v2: 'cocktails-v2:2.0.0' };

/**
 * deploy/swarm/stack.yml on one machine whose kernel need not have IP_VS, and so has no virtual addresses and no routing
 * mesh: each service name stands for the addresses of its tasks, and a further gateway, `front`, is the load balancer.
 */
export function withoutRoutingMesh(text: string, port: string): string {
  const stack = parse(text) as Stack;
  for (const service of Object.values(stack.services)) {
    delete service.ports;
    service.deploy = { ...service.deploy, endpoint_mode: 'dnsrr' };
    // A health check starts a process. A busy machine must not make it fail.
    service.healthcheck = { ...service.healthcheck, timeout: '60s' };
  }
  const gateway = stack.services['gateway'];
  // Shorter pauses, so that the tests take less time.
  Object.assign(gateway?.deploy?.['update_config'] ?? {}, { delay: '1s', monitor: '5s' });
  Object.assign(gateway?.healthcheck ?? {}, { interval: '2s' });
  stack.services['front'] = {
    image: images.gateway,
    command: ['start', '--listen', '0.0.0.0:8080', '--admin', '127.0.0.1:9901'],
    configs: [{ source: 'front', target: '/app/config/routes.yaml' }],
    ports: [{ target: 8080, published: Number(port), protocol: 'tcp', mode: 'host' }],
    networks: ['edge'],
    deploy: { endpoint_mode: 'dnsrr' },
    healthcheck: { timeout: '60s' },
  };
  stack.configs['front'] = { file: 'front.yaml' };
  return stringify(stack);
}

const frontRoutes = `routes:
  /v1: { upstream: "http://gateway:8080", prefix: forward }
  /v2: { upstream: "http://gateway:8080", prefix: forward }
`;

/** The stack in a Swarm of one machine. */
export function swarmWith({ folder, env }: ComposeProject, compose: Compose) {
  const { docker } = compose;
  const name = 'gateways';
  const service = (of: string): string => `${name}_${of}`;
  const lines = async (...args: string[]): Promise<string[]> => (await docker(...args)).split('\n').filter(Boolean);
  const inSwarm = join(folder, 'deploy', 'swarm');
  let config = 0;
  /** Deploys the stack with this routes.yaml, under names of configs that are not in use. */
  const deploy = async (routes: string): Promise<void> => {
    config += 1;
    writeFileSync(join(inSwarm, 'routes.yaml'), routes);
    const args = ['stack', 'deploy', '--resolve-image', 'never', '--compose-file', join(inSwarm, 'test.yml'), name];
    await outputOf('docker', args, { ...process.env, ...env, CONFIG: String(config) });
  };
  const updateStatus = async (): Promise<{ State?: string; StartedAt?: string }> => {
    const text = await docker('service', 'inspect', service('gateway'), '--format', '{{json .UpdateStatus}}');
    return (JSON.parse(text) as { State?: string; StartedAt?: string } | null) ?? {};
  };
  return {
    /** Creates a Swarm of this machine. Returns the address under which its tasks reach the machine. */
    async init(): Promise<string> {
      await docker('swarm', 'init', '--advertise-addr', '127.0.0.1', '--listen-addr', '127.0.0.1:2377');
      // Neither `docker network inspect` nor Node's networkInterfaces() reports the address while no container uses the bridge.
      const shown = await outputOf('ip', ['-4', '-json', 'address', 'show', 'dev', 'docker0'], process.env);
      const [bridge] = JSON.parse(shown) as { addr_info: { local: string }[] }[];
      const address = bridge?.addr_info[0]?.local;
      if (address === undefined)
        throw new Error(`The bridge docker0, over which tasks reach this machine, has no address: ${shown}`);
      return address;
    },
    async prepare(secrets: Readonly<Record<string, string>>): Promise<void> {
      for (const [secret, text] of Object.entries(secrets)) {
        writeFileSync(join(folder, 'secret'), text);
        await docker('secret', 'create', secret, join(folder, 'secret'));
      }
      for (const [one, image] of Object.entries(images)) {
        // Compose 1 writes an underscore into the name, Compose 2 a hyphen.
        const reference = `reference=${env['COMPOSE_PROJECT_NAME']}?${one}`;
        const built = await lines('image', 'ls', '--quiet', '--filter', reference);
        await docker('tag', built[0] ?? one, image);
      }
      const stack = readFileSync(join(inSwarm, 'stack.yml'), 'utf8');
      writeFileSync(join(inSwarm, 'test.yml'), withoutRoutingMesh(stack, env['GATEWAY_PORT'] ?? ''));
      writeFileSync(join(inSwarm, 'front.yaml'), frontRoutes);
    },
    async leave(): Promise<void> {
      await docker('swarm', 'leave', '--force');
      const containers = (): Promise<string[]> =>
        lines('ps', '--quiet', '--filter', 'label=com.docker.swarm.service.name');
      await waitUntil(async () => (await containers()).length === 0, 'the tasks of the Swarm to end');
    },
    deploy,
    /** Deploys the stack with this routes.yaml and waits until all gateways are replaced, or the update is undone. */
    async update(routes: string): Promise<string> {
      const before = (await updateStatus()).StartedAt;
      await deploy(routes);
      let state = '';
      const hasEnded = async (): Promise<boolean> => {
        const { State = '', StartedAt } = await updateStatus();
        state = State;
        return StartedAt !== before && /^(?:completed|rollback_completed|paused|rollback_paused)$/.test(State);
      };
      await waitUntil(hasEnded, 'the end of the update');
      return state;
    },
    /** The containers of a service that run. */
    containers: (of: string) =>
      lines('ps', '--quiet', '--no-trunc', '--filter', `label=com.docker.swarm.service.name=${service(of)}`),
  };
}
