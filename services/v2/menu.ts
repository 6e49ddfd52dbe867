import { houseCocktails } from './houseCocktails.ts';

export const bases = ['gin', 'rum', 'tequila', 'vodka', 'whiskey'] as const;
export type Base = (typeof bases)[number];

export interface Draft {
  readonly name: string;
  readonly base: Base;
  /** In euro. */
  readonly price: number;
  readonly ingredients: readonly string[];
  readonly glass?: string;
}

export interface Cocktail extends Draft {
  readonly id: number;
}

export interface Page {
  readonly cocktails: readonly Cocktail[];
  readonly hasMore: boolean;
}

// About 6 MB of the largest cocktails that the contract allows.
const maxAddedCocktails = 1000;

/** The cocktails in memory, by ascending id. A restart removes the added ones. */
export class Menu {
  #cocktails: Cocktail[] = houseCocktails.map((draft, index) => ({ id: index + 1, ...draft }));
  #newestId = houseCocktails.length;

  /** The highest id given so far. */
  get newestId(): number {
    return this.#newestId;
  }

  /** At most `limit` cocktails with an id above `after`. Added cocktails do not shift the pages. */
  page({ base, after, limit }: { base: Base | undefined; after: number; limit: number }): Page {
    const matching = this.#cocktails.filter((cocktail) => cocktail.id > after && (!base || cocktail.base === base));
    return { cocktails: matching.slice(0, limit), hasMore: matching.length > limit };
  }

  countAfter(id: number): number {
    return this.#cocktails.filter((cocktail) => cocktail.id > id).length;
  }

  find(id: number): Cocktail | undefined {
    return this.#cocktails.find((cocktail) => cocktail.id === id);
  }

  /** If the menu is full, removes the oldest added cocktail. House cocktails are never removed. */
  add(draft: Draft): Cocktail {
    this.#newestId += 1;
    const cocktail = { id: this.#newestId, ...draft };
    this.#cocktails.push(cocktail);
    if (this.#cocktails.length > houseCocktails.length + maxAddedCocktails)
      this.#cocktails.splice(houseCocktails.length, 1);
    return cocktail;
  }

  /** The ingredients of the cocktails with this base. Each is listed once. */
  ingredients(base: Base): string[] {
    const matching = this.#cocktails.filter((cocktail) => cocktail.base === base);
    return [...new Set(matching.flatMap((cocktail) => cocktail.ingredients))].sort();
  }
}
