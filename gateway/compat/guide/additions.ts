import { routeInWords } from '../diff/routes.ts';
import type { Guide } from './guide.ts';
import { named } from './words.ts';

export interface Additions {
  /** "`GET /cocktails`, response 200", or the name of what several routes share. */
  readonly subject: string;
  readonly texts: readonly string[];
}

/** What is only new, each told once. */
export function additionsIn({ routes, shared }: Guide): Additions[] {
  const own = routes.flatMap(({ old, now, topics }) => {
    const name = now ?? old;
    return topics.map(({ subject, additions }) => ({
      subject: `${name ? named(routeInWords(name)) : ''}, ${subject.slice(0, 1).toLowerCase()}${subject.slice(1)}`,
      texts: additions.map(({ text }) => text),
    }));
  });
  const common = shared.map(({ subject, additions }) => ({ subject, texts: additions.map(({ text }) => text) }));
  return [...common, ...own].filter(({ texts }) => texts.length > 0);
}
