import type { Snapshot } from '../config/snapshot.ts';
import type { Entry, Overview } from './overview.ts';
import { contractType, indexPath } from './paths.ts';

/** RFC 9727 §4: a linkset (RFC 9264) that says which profile it follows. */
export const catalogType = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"';

interface Target {
  readonly href: string;
  readonly type?: string;
}

/**
 * The API catalog: one context a version that is served. A retired one has no endpoint to find, so it is left out.
 * Without `public_url` its references are relative to the URL that it was fetched from (RFC 3986 §5.1.3).
 * Relations: `service-desc`, `service-doc` (RFC 8631), `successor-version` (RFC 5829), `deprecation` (RFC 9745), `sunset` (RFC 8594).
 */
export function linkset(overview: Overview, snapshot: Snapshot): object {
  const doc = overview.origin + indexPath(snapshot);
  return { linkset: overview.entries.filter(({ stage }) => stage !== 'retired').map((entry) => context(entry, doc)) };
}

function context({ version, stage, url, contract, successor, guide }: Entry, doc: string): object {
  const pages = [...(targets(version.info) ?? []), ...(targets(guide, 'text/html') ?? [])];
  const ending = stage === 'active' || pages.length === 0 ? undefined : pages;
  return {
    anchor: url,
    'service-desc': version.contract && targets(contract, contractType(version.contract)),
    'service-doc': targets(doc, 'text/html'),
    'successor-version': targets(successor?.url),
    deprecation: ending,
    sunset: version.sunset === undefined ? undefined : ending,
  };
}

function targets(href: string | undefined, type?: string): readonly Target[] | undefined {
  if (href === undefined) return undefined;
  return [type === undefined ? { href } : { href, type }];
}
