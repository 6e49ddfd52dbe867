import type { Certificate } from '../support/certificate.ts';
import type { Command } from '../support/children.ts';

/** Settings that a scenario needs in every proxy, in addition to the workload. */
export interface Setup {
  /** The proxy serves TLS, and HTTP/2 if it can. */
  readonly certificate?: Certificate;
  /** The proxy writes a line of JSON per request to this file. */
  readonly accessLog?: string;
}

export interface StartOptions extends Setup {
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
  /** True for the gateway: the run fails if the gateway cannot be measured. */
  readonly required?: boolean;
  command(options: StartOptions): Command;
}
