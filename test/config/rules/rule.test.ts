import { expect, it } from 'vitest';
import { parseIn } from '../fixtures.ts';

/** A file in which the successor of /v1 is /v4, because /v2 is retired and names /v4. */
function findings({ v3, v4 }: { readonly v3: string; readonly v4: string }): string[] {
  const contract = (name: string): string => (name === '' ? '' : `, contract: ../contracts/${name}`);
  const v1 = 'upstream: http://127.0.0.1:3001, deprecation: 2025-01-01, sunset: 2099-01-01, guide: true';
  const { faults, warnings } = parseIn(
    'warned-routes',
    `routes:
  /v1: { ${v1}${contract('v1.yaml')} }
  /v2: { retired: true, successor: /v4 }
  /v3: { upstream: http://127.0.0.1:3003${contract(v3)} }
  /v4: { upstream: http://127.0.0.1:3004${contract(v4)} }
`,
  );
  return [...faults, ...warnings].map(({ message }) => message);
}

it('the successor behind a retired version is the one that this version names', () => {
  expect(findings({ v3: '', v4: 'v2.json' })).toEqual([]);
  expect(findings({ v3: 'v2.json', v4: '' })).toEqual([
    'The guide is generated from the contracts of /v1 and /v4, and /v4 has none.',
  ]);
});
