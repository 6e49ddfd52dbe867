import { describe, expect, it } from 'vitest';
import { get } from './usageAdmin.ts';

describe('the parameters of /api/usage', () => {
  it.each([
    ['since=soon', '`since` must be a duration from 1ms to 36500d, such as 7d or 36h.'],
    ['since=7', '`since` must be a duration'],
    ['since=off', '`since` must be a duration'],
    ['since=', '`since` must be a duration'],
    ['since=1d&since=2d', '`since` must be given once'],
    ['since[x]=1d', '`since[x]` is not a parameter'],
    ['by=name', '`by` must be one of version, client, route, day, migration.'],
    ['by=', '`by` must be one of'],
    ['by=day&step=minute', '`step` must be one of day, hour.'],
    ['by=client&step=hour', '`step` requires by=day.'],
    ['route=GET%20/old', '`route` needs a version.'],
    ['route=/old&version=v1', '`route` must be a method and a path below the version, such as GET /legacy-search.'],
    ['route=GET%20/old&version=v1&by=migration', '`route` needs a report by client, route or day.'],
    ['route=GET%20/old&version=v1&by=day&step=hour', '`route` is counted by day.'],
    ['route=GET%20/old&version=v1&by=client&state=any', '`state` compares whole versions'],
    [
      'version=v9',
      '`version`: it is neither in the configuration nor in the ledger.  The configuration has /v1, /v2; the ledger also has /v0.',
    ],
    ['version=', '`version`: it is neither'],
    ['version=v2&by=migration', '`version`: /v2 has no successor'],
    ['instance=gw-1', '`instance`: the ledger is not that of a fleet.'],
    ['instance=gw-1&by=client', '`instance`: counts by client and by route are kept for the whole fleet only.'],
    ['instance=gw-1&by=day&step=hour', '`instance`: counts by gateway are kept by day.'],
    ['sice=7d', '`sice` is not a parameter of this resource. Its parameters: `since`'],
  ])('?%s is refused with the parameter’s name', async (query, detail) => {
    for (const path of ['/api/usage', '/api/usage.csv']) {
      const { status, type, json } = await get(`${path}?${query}`);
      expect([status, type, json().detail]).toEqual([400, 'application/problem+json', expect.stringContaining(detail)]);
    }
  });
});

describe('the parameters of /api/versions/v1/retirement', () => {
  it.each([
    [
      '/api/versions/v9/retirement',
      404,
      'it is neither in the configuration nor in the ledger.  The configuration has /v1, /v2; the ledger also has /v0.',
    ],
    ['/api/versions/__proto__/retirement', 404, 'No such version'],
    ['/api/versions/v1/retirement?quiet=off', 400, '`quiet` must be a duration'],
    ['/api/versions/v1/retirement?quiet=0s', 400, '`quiet` must be a duration from 1ms to 36500d'],
    ['/api/versions/v1/retirement?quiet=1000000d', 400, '`quiet` must be a duration from 1ms to 36500d'],
    ['/api/versions/%E0%A4%A/retirement', 400, 'The path has an invalid percent-encoding.'],
    [
      '/api/versions/v1/retirement?since=7d',
      400,
      '`since` is not a parameter of this resource. Its parameters: `quiet`, `route`.',
    ],
  ])('%s is %d', async (path, expected, detail) => {
    const { status, type, json } = await get(path);
    expect([status, type, json().detail]).toEqual([
      expected,
      'application/problem+json',
      expect.stringContaining(detail),
    ]);
  });
});
