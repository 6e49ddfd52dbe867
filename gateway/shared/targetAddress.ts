/** The names of this machine. A backend that listens on one of them is usually reached by all. */
const loopbackNames: ReadonlySet<string> = new Set(['localhost', '[::1]', '[::ffff:7f00:1]']);

/**
 * The address of a target, as `host:port`: the same backend has the same address under every name of a version. `localhost` and `[::1]`
 * become `127.0.0.1`.
 */
export function targetAddress(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/\.$/, '');
  return `${loopbackNames.has(host) ? '127.0.0.1' : host}:${port || (protocol === 'https:' ? 443 : 80)}`;
}

/** The addresses of these targets, each once. */
export function addressesOf(targets: readonly { readonly url: string }[]): string[] {
  return [...new Set(targets.map(({ url }) => targetAddress(url)))];
}
