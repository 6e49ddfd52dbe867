import { parseDocument } from 'yaml';

/** The names of clients by what the ledger calls them; a text says why `text`, YAML or JSON, holds none. */
export function parseNames(text: string): ReadonlyMap<string, string> | string {
  let content: unknown;
  try {
    const document = parseDocument(text, { prettyErrors: false, logLevel: 'silent' });
    if (document.errors.length > 0) return 'is not YAML';
    content = document.toJS({ maxAliasCount: 100 });
  } catch {
    return 'cannot be unfolded: it is nested or aliased too deeply';
  }
  // All of its lines may be commented out.
  if (content === null || content === undefined) return new Map();
  if (typeof content !== 'object' || Array.isArray(content)) return 'is not a map from clients to names';
  const entries = Object.entries(content);
  const nameless = entries.find(([, name]) => typeof name !== 'string' || name.trim() === '');
  return nameless ? `has no text for the name of ${JSON.stringify(nameless[0].slice(0, 80))}` : new Map(entries);
}
