import { addPart, type Comparison, type Direction } from '../change.ts';
import { compareDocs } from '../compareDocs.ts';
import { below, isMap, type Located } from '../document/located.ts';
import { compareContent } from './compareContent.ts';
import { found, type Sides } from './sides.ts';

/** What a parameter or header may be, and how it is written. */
export function compareParameterValues(
  old: Located,
  now: Located,
  direction: Direction,
  sides: Sides,
  into: Comparison,
): void {
  compareDocs(old, now, into);
  for (const keyword of permissions) comparePermission(keyword, old, now, direction, into);
  const isPlain = sides.arePlain(below(old, 'schema'), below(now, 'schema'));
  const [before, after] = [writing(old, isPlain), writing(now, isPlain)];
  if (before !== after) {
    found(into, { kind: 'serialization', effect: 'changed' }, direction, `${before} → ${after}`, old, now);
    return;
  }
  if (before === 'content') compareContent(below(old, 'content'), below(now, 'content'), direction, sides, into);
  else addPart(into, undefined, sides.schemas(below(old, 'schema'), below(now, 'schema'), direction, 'text'));
}

// Those of which even a single value bears a mark.
const prefixing: ReadonlySet<string> = new Set(['matrix', 'label']);
const styles: Readonly<Record<string, string>> = { query: 'form', cookie: 'form', path: 'simple', header: 'simple' };

// Whether `/` and its like may be sent as they are, too; whether nothing may be sent at all.
const permissions = ['allowReserved', 'allowEmptyValue'] as const;

function comparePermission(keyword: string, old: Located, now: Located, direction: Direction, into: Comparison): void {
  const [before, after] = [below(old, keyword), below(now, keyword)];
  const [was, is] = [before.value === true, after.value === true];
  if (was !== is) found(into, { kind: 'limit', effect: is ? 'wider' : 'narrower' }, direction, keyword, before, after);
}

/** `style` and `explode` with their defaults. How lists are written is no matter where there are none: `isPlain`. */
function writing({ value }: Located, isPlain: boolean): string {
  if (!isMap(value)) return '';
  if (value['schema'] === undefined && isMap(value['content'])) return 'content';
  const style =
    typeof value['style'] === 'string' ? value['style'] : (styles[String(value['in'] ?? 'header')] ?? 'form');
  const isExploded = typeof value['explode'] === 'boolean' ? value['explode'] : style === 'form' || style === 'cookie';
  if (isPlain && !prefixing.has(style)) return 'plain';
  return `style ${style}${isExploded && !isPlain ? ', exploded' : ''}`;
}
