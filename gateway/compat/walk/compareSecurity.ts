import type { Comparison } from '../change.ts';
import type { Documents } from '../document/documents.ts';
import { below, isList, isMap, type Located } from '../document/located.ts';
import { canonical, substance } from '../schema/canonical.ts';
import { found, type Sides } from './sides.ts';

/** How clients identify themselves: what the operation asks for, or else the whole API. */
export function compareSecurity(old: Located, now: Located, sides: Sides): Comparison | undefined {
  const [before, after] = [askedFor(old, sides.old), askedFor(now, sides.new)];
  if (before.value === undefined && after.value === undefined) return undefined;
  return sides.once('security', before, after, (_old, _now, into) => {
    if (inFull(before, sides.old) === inFull(after, sides.new)) return;
    found(into, { kind: 'security', effect: 'changed' }, 'request', '', before, after);
  });
}

function askedFor(operation: Located, { root }: Documents): Located {
  const own = below(operation, 'security');
  return own.value === undefined ? below(root, 'security') : own;
}

/** With the schemes as they are defined; the order of alternatives is of no importance. */
function inFull({ value }: Located, documents: Documents): string {
  const schemes = below(below(documents.root, 'components'), 'securitySchemes');
  const requirements = isList(value) ? value.filter(isMap) : [];
  const texts = requirements.map((requirement) => {
    const names = Object.keys(requirement).sort();
    return names
      .map((name) => `${canonical(requirement[name])} ${substance(documents.resolve(below(schemes, name)).value)}`)
      .join(' and ');
  });
  return [...new Set(texts)].sort().join(' or ');
}
