/** How many cases a test tries: some with `npm test`, all with `npm run soak`. */
export function cases(some: number, all: number): number {
  return process.env['ALL_CASES'] === undefined ? some : all;
}
