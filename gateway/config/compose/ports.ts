import { allTexts, child, itemsOf, type Node, type Spot, textOf } from './node.ts';
import type { Service } from './service.ts';

/** A port of which the file says that somebody listens there. */
export interface Port {
  readonly first: number;
  readonly last: number;
  /** Under which port of the host it is reached; undefined for none, or for one that nobody has chosen. */
  readonly published: number | undefined;
  /** The key that says so. */
  readonly said: string;
  readonly at: Spot;
}

/** What the file tells of where a service listens. An image may say otherwise; nothing at all is an answer, too. */
export function portsOf(service: Service): readonly Port[] {
  return [
    ...itemsOf(child(service.node, 'ports')).flatMap(published),
    ...itemsOf(child(service.node, 'expose')).flatMap((item) => range(textOf(item), 'expose', item.at)),
    ...['PORT', 'HTTP_PORT', 'SERVER_PORT'].flatMap((name) => {
      const setting = service.environment.get(name);
      return setting ? range(setting.text, name, setting.at) : [];
    }),
    ...probed(child(service.node, 'healthcheck', 'test')),
  ];
}

export function listensOn(ports: readonly Port[], port: number): boolean {
  return ports.some(({ first, last }) => first <= port && port <= last);
}

/** `[address:][published:]target[/protocol]`, with ranges; or the long form. */
function published(item: Node): Port[] {
  if (item.kind === 'map') {
    if (textOf(child(item, 'protocol')) === 'udp') return [];
    return range(textOf(child(item, 'target')), 'ports', item.at, textOf(child(item, 'published')));
  }
  const text = textOf(item) ?? '';
  // Longer than any address with its ports, and no work for the pattern.
  if (text.length > 200) return [];
  const [, host, target] = /^(?:.*?:)??(?:([\d-]*):)?([\d-]+(?:\/\w+)?)$/.exec(text) ?? [];
  return range(target, 'ports', item.at, host);
}

function range(text: string | undefined, said: string, at: Spot, host?: string): Port[] {
  const [, first = '', last = first, protocol = 'tcp'] =
    /^(\d{1,5})(?:-(\d{1,5}))?(?:\/(\w+))?$/.exec(text ?? '') ?? [];
  if (first === '' || protocol === 'udp') return [];
  const published = host !== undefined && /^\d{1,5}$/.test(host) ? Number(host) : undefined;
  return [{ first: Number(first), last: Number(last), published, said, at }];
}

/** A health check asks its own container. */
function probed(test: Node | undefined): Port[] {
  const urls = allTexts(test)
    .join(' ')
    .matchAll(/(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]):(\d{1,5})/g);
  return test ? [...urls].flatMap(([, port]) => range(port, 'healthcheck', test.at)) : [];
}

/** `3000, 9229-9230` */
export function portsInWords(ports: readonly Port[]): string {
  const words = ports.map(({ first, last }) => (first === last ? String(first) : `${first}-${last}`));
  return [...new Set(words)].join(', ');
}
