/** Counts what changes in the health of any target, so that a pool looks at its targets again only then. */
export interface Changes {
  count: number;
}
