import { houseCocktails } from './houseCocktails.ts';

export const bases = ['gin', 'rum', 'tequila', 'vodka', 'whiskey'] as const;
export type Base = (typeof bases)[number];

export interface Draft {
  readonly title: string;
  readonly base: Base;
  /** A decimal with two places, as text: "9.50". */
  readonly price: string;
  readonly ingredients: readonly string[];
}

export interface Cocktail extends Draft {
  readonly id: number;
}

export interface Page {
  readonly cocktails: readonly Cocktail[];
  readonly hasMore: boolean;
}

// 1,000 of the largest cocktails that the contract allows take about 6 MB.
const maxAddedCocktails = 1000;
const maxSearchResults = 50;

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

  /** The ingredients of the cocktails with this base, or of all cocktails. Each is listed once. */
  ingredients(base: Base | undefined): string[] {
    const matching = this.#cocktails.filter((cocktail) => !base || cocktail.base === base);
    return [...new Set(matching.flatMap((cocktail) => cocktail.ingredients))].sort();
  }

  /** The first 50 cocktails whose title contains `word`, ignoring case. */
  search(word: string): Cocktail[] {
    const wanted = word.toLowerCase();
    return this.#cocktails
      .filter((cocktail) => cocktail.title.toLowerCase().includes(wanted))
      .slice(0, maxSearchResults);
  }
}
