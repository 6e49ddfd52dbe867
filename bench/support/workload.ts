/** The one job that every proxy is given: strip `/v1`, set three headers, pass on a small JSON answer. */
export const dates = { deprecation: '2026-06-30', sunset: '2028-06-30T23:59:59Z' } as const;

export const headers = {
  deprecation: `@${Date.parse(dates.deprecation) / 1000}`,
  sunset: new Date(dates.sunset).toUTCString(),
} as const;

/** Of the path without its prefix. */
export const successorLink = (path: string): string => `</v2${path}>; rel="successor-version"`;

const frame = JSON.stringify({ id: 11007, name: 'Margarita', note: '' });
export const body = frame.replace('""', `"${'x'.repeat(256 - frame.length)}"`);

export const path = '/json';
export const connections = 64;
