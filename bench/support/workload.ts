/** The workload of every proxy: strip `/v1`, set three headers, return a small JSON response. */
export const dates = { deprecation: '2026-06-30', sunset: '2028-06-30T23:59:59Z' } as const;

export const headers = {
  deprecation: `@${Date.parse(dates.deprecation) / 1000}`,
  sunset: new Date(dates.sunset).toUTCString(),
} as const;

/** `path`: without the version prefix. */
export const successorLink = (path: string): string => `</v2${path}>; rel="successor-version"`;

const emptyBody = JSON.stringify({ id: 11007, name: 'Margarita', note: '' });
export const body = emptyBody.replace('""', `"${'x'.repeat(256 - emptyBody.length)}"`);

/** The response of v2 to which an adapter is applied: about 155 bytes for each of `items`. */
export function listBody(items: number): string {
  const cocktails = Array.from({ length: items }, (_, index) => ({
    id: index,
    title: `Cocktail number ${index}`,
    price: 9.25 + index,
    glass: 'highball',
    alcoholic: true,
    tags: ['mint', 'rum', 'lime'],
    description: 'A drink of Cuba with mint',
  }));
  return JSON.stringify({ cocktails });
}

export const path = '/json';
export const connections = 64;
/** The number of clients in a mixed load. They send `X-Client-Id: client-1` to `client-50`. */
export const clients = 50;
