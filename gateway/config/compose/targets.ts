import type { Path } from '../mask.ts';
import type { Snapshot } from '../snapshot.ts';
import { has, placeKey, type Source, valueAt } from '../source.ts';

/** One upstream of routes.yaml as the gateway reads it in its container. */
export interface Target {
  /** `v1` */
  readonly version: string;
  readonly url: string;
  /** In lower case, without the brackets of an IPv6 address. */
  readonly host: string;
  readonly port: number;
  /** Where it stands in routes.yaml. */
  readonly path: Path;
  /** The variable that it comes from, if it is written as one. */
  readonly variable: string | undefined;
}

export function targetsOf(snapshot: Snapshot, source: Source, text: string): readonly Target[] {
  const lines = text.split(/\r\n?|\n/);
  return snapshot.byMajor.flatMap(({ name, targets }) =>
    targets.map((target, index): Target => {
      const { hostname, port, protocol } = new URL(target.url);
      const path = pathOf(source, `/${name}`, index);
      const place = source.places.get(placeKey(path))?.value;
      const written = place ? (lines[place.line - 1] ?? '').slice(place.column - 1) : '';
      return {
        version: name,
        url: target.url,
        host: hostname.toLowerCase().replace(/^\[|\]$|\.$/g, ''),
        port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
        path,
        variable: /^["']?\$\{?([A-Za-z_]\w*)/.exec(written)?.[1],
      };
    }),
  );
}

/** An upstream may be written in four ways. */
function pathOf(source: Source, key: string, index: number): Path {
  const route = ['routes', key];
  const forms = [
    [...route, 'upstream', index, 'url'],
    [...route, 'upstream', index],
    [...route, 'upstream'],
  ];
  const isText = (path: Path): boolean => has(source, path) && !Array.isArray(valueAt(source.tree, path));
  return forms.find(isText) ?? route;
}
