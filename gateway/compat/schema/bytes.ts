import type { Context } from './pair.ts';
import { isAnything } from './reach.ts';
import type { View } from './view.ts';

const octets = '"application/octet-stream"';

/**
 * Whether a schema means bytes as they are: `format: binary` in OpenAPI 3.0; since 3.1 no schema at all, or the media
 * type of what it holds. Only bodies and their parts can hold any.
 */
export function isBytes(view: View, { wire }: Context): boolean {
  if (wire !== 'bytes' && wire !== 'multipart') return false;
  const { texts } = view.limits;
  if (texts.has('contentEncoding') || view.values) return false;
  const media = [...(texts.get('contentMediaType')?.is ?? [])];
  // What a whole body is its own media type says; that of a part is octets unless something else is said.
  if (wire === 'multipart' && media.some((type) => type !== octets)) return false;
  if (texts.get('format')?.is.has('"binary"')) return true;
  if (media.length > 0) return view.types === undefined || view.types.has('string');
  return isAnything(view) && texts.size === 0;
}
