const day = 86_400_000;
const dateOf = (first: string, generation: number) =>
  new Date(Date.parse(first) + generation * day).toISOString().slice(0, 10);

/** Settings of a version whose responses contain this number in both dates and in the info link; see `loadProcess.ts`. */
export function generationOf(generation: number) {
  return {
    deprecation: dateOf('2020-01-01', generation),
    sunset: dateOf('2100-01-01', generation),
    successor: '/v2',
    info: `https://api.test/generation-${generation}`,
  };
}
