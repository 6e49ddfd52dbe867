/** Figures that add up. Instants in epoch ms. */
export interface Counts {
  requests: number;
  errors: number;
  served: number;
  failing: number;
  refused: number;
  first: number;
  last: number;
  /** 0: never. */
  used: number;
}

export function addCounts(sum: Counts, more: Readonly<Counts>): void {
  sum.requests += more.requests;
  sum.errors += more.errors;
  sum.served += more.served;
  sum.failing += more.failing;
  sum.refused += more.refused;
  sum.first = Math.min(sum.first, more.first);
  sum.last = Math.max(sum.last, more.last);
  sum.used = Math.max(sum.used, more.used);
}
