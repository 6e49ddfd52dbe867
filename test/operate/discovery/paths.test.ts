import { describe, expect, it } from 'vitest';
import { isDiscovery } from '../../../gateway/operate/discovery/paths.ts';
import { snapshotWith } from './server.ts';

describe('below the root', () => {
  it.each([
    ['/', true],
    ['/contracts/v1.yaml', true],
    ['/contracts/v2.json', true],
    ['/contracts/v99.yaml', true],
    ['/guides/v1-to-v2', true],
    ['/guides/v1-to-v2.md', true],
    ['/guides/v1-to-v2/', false],
    ['/guides/v01-to-v2', false],
    ['/guides/v1-to-', false],
    ['/guides/', false],
    ['/.well-known/api-catalog', true],
    ['/.well-known/api-catalog/', false],
    ['/lifecycle.ics', true],
    ['/lifecycle.atom', true],
    ['/lifecycle.atom/', false],
    ['/lifecycle.xml', false],
    ['/lifecycle', false],
    ['/.well-known/openid-configuration', false],
    ['//', false],
    ['/v1', false],
    ['/v1/contracts/v1.yaml', false],
    ['/contracts', false],
    ['/contracts/', false],
    ['/contracts/v01.yaml', false],
    ['/contracts/V1.yaml', false],
    ['/contracts/v1.yml', false],
    ['/contracts/v1%2eyaml', false],
    ['/contracts/../v1.yaml', false],
    ['/contracts/v1.yaml/', false],
    ['*', false],
  ])('%s → %s', (path, expected) => {
    expect(isDiscovery(path, snapshotWith())).toBe(expected);
  });
});

describe('below a base path', () => {
  it.each([
    ['/api', true],
    ['/api/', true],
    ['/api/contracts/v1.yaml', true],
    ['/api/lifecycle.ics', true],
    ['/lifecycle.ics', false],
    ['/.well-known/api-catalog', true],
    ['/', false],
    ['/apis', false],
    ['/api//', false],
    ['/contracts/v1.yaml', false],
    ['/api/.well-known/api-catalog', false],
    ['/api/v1', false],
  ])('%s → %s', (path, expected) => {
    expect(isDiscovery(path, snapshotWith({ base_path: '/api' }))).toBe(expected);
  });
});
