import type { Command } from '../support/children.ts';

export interface StartOptions {
  readonly port: number;
  readonly backendPort: number;
  /** For configuration files; removed afterwards. */
  readonly folder: string;
}

/** A proxy to measure, configured for speed as its manual recommends. */
export interface ProxyDefinition {
  readonly name: string;
  /** Undefined: not installed here. */
  readonly version: string | undefined;
  /** True for the gateway: the run fails if it cannot be measured. */
  readonly required?: boolean;
  command(options: StartOptions): Command;
}
