import { readYaml } from './readYaml.ts';
import { hostPort } from './schema/network.ts';

export interface AdminAddress {
  /** As `gateway.admin` has it; empty: every interface. */
  readonly host: string;
  readonly port: number;
  /** '' where there is none, or where the environment does not have it. */
  readonly token: string;
}

/**
 * Where a routes.yaml has the gateway listen for its operators. Whatever else is wrong with the file is of no concern:
 * who asks the gateway need not have its environment. Undefined: it does not say; `broken`: nobody can tell what it says;
 * `unusable`: it says something that is no address.
 */
export function adminAddressIn(text: string, env: NodeJS.ProcessEnv): AdminAddress | 'broken' | 'unusable' | undefined {
  const { source, broken } = readYaml(text, '', '', env);
  if (broken) return 'broken';
  const gateway = isMap(source.tree) ? source.tree['gateway'] : undefined;
  if (!isMap(gateway) || gateway['admin'] === undefined) return undefined;
  const { success, data } = hostPort.safeParse(gateway['admin']);
  if (!success || data.port === 0) return 'unusable';
  const token = textOf(gateway['admin_token']);
  return { host: data.host, port: data.port, token };
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return isMap(value) && typeof value['text'] === 'string' ? value['text'] : '';
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
