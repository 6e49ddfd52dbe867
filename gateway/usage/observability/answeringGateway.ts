import { printableExcerpt } from '../../shared/text.ts';

/** Which gateway gives an answer. A command may be run beside the routes.yaml of another one. */
export interface AnsweringGateway {
  /** `fleet.name`, or the host name. */
  readonly name: string;
  readonly host: string;
  /** The origin of its admin listener, as it is configured: `http://127.0.0.1:9901`. */
  readonly admin: string;
  /** The real path of its routes.yaml; '' if its configuration has no file. */
  readonly file: string;
  /** The SHA-256 of the content that it read last, in hex; '' if it has no file. */
  readonly digest: string;
}

/** `Gateway gw-1 at http://127.0.0.1:9901, with /etc/gateway/routes.yaml`. Safe to print. */
export function gatewayInWords({ name, admin, file }: Pick<AnsweringGateway, 'name' | 'admin' | 'file'>): string {
  const where = `Gateway ${printableExcerpt(name)} at ${printableExcerpt(admin)}`;
  return file === '' ? `${where}, without a file` : `${where}, with ${printableExcerpt(file, 300)}`;
}

/** The same as fields of the events that programs receive. */
export function gatewayFields({ name, admin, file }: AnsweringGateway): Readonly<Record<string, string>> {
  return { gateway: name, gateway_admin: admin, gateway_file: file };
}
