import { describe, expect, it } from 'vitest';
import { contract, Repository, routesFile } from '../compatRepository.ts';

const before = contract({ 'GET /drinks': { price: 'string', glass: 'string' }, 'GET /bars': { glass: 'string' } });
const after = contract({ 'GET /drinks': { price: 'string' }, 'GET /bars': {} });
const exemption = (route: string, more = {}) => ({
  rule: 'response-field-removed',
  route,
  reason: 'No client reads it.',
  until: '2999-01-01',
  ...more,
});
const withExemptions = (...exempt: unknown[]) => routesFile({ v1: 'v1.json' }, { compat: { exempt } });
const routes = ['--routes', 'routes.yaml'];
const pair = ['HEAD:v1.json', 'v1.json', '--config', 'routes.yaml'];

function changed(...exempt: unknown[]): Repository {
  const repository = Repository.of({ 'routes.yaml': withExemptions(), 'v1.json': before });
  return repository.write({ 'routes.yaml': withExemptions(...exempt), 'v1.json': after });
}

const both = [exemption('GET /drinks'), exemption('GET /bars')];
const pointer = '/paths/~1bars/get/responses/200/content/application~1json/schema/properties/glass';

describe.each([
  ['--routes', routes],
  ['two contracts and --config', pair],
])('exemptions, with %s', (_way, args) => {
  it('let findings pass, and report that', async () => {
    const { code, stdout } = await changed(...both).compat(args);
    expect(code).toBe(0);
    expect(stdout).toContain('until 2999-01-01: No client reads it.');
    expect(stdout).toContain('2 findings exempted');
    expect(stdout).not.toMatch(/no (breaking )?change/i);
  });

  it('do not apply to other routes', async () => {
    const { code, stdout } = await changed(exemption('GET /bars')).compat(args);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^1 error, 1 finding exempted/m)]);
  });

  it('accept the pointer from the report', async () => {
    const { stdout } = await changed(exemption('GET /bars', { pointer })).compat([...args, '--all']);
    expect(stdout).toMatch(/^1 error, 1 finding exempted/m);
    const told = (await changed().compat([...args, '--all'])).stdout;
    expect(told).toContain(pointer);
  });

  it('fail once they have expired, even if nothing has changed', async () => {
    const repository = changed(...both, exemption('GET /drinks', { until: '2020-01-01' }));
    const { code, stdout } = await repository.compat(args);
    expect([code, stdout]).toEqual([1, expect.stringContaining('expired on 2020-01-01')]);
    repository.write({
      'routes.yaml': withExemptions(exemption('GET /x', { until: '2020-01-01' })),
      'v1.json': before,
    });
    expect((await repository.compat(args)).code).toBe(1);
  });
});

describe('an exemption without a finding', () => {
  it('fails when all contracts are compared', async () => {
    const repository = Repository.of({ 'routes.yaml': withExemptions(exemption('GET /bars')), 'v1.json': before });
    const { code, stdout } = await repository.compat(routes);
    expect([code, stdout]).toEqual([1, expect.stringContaining('for GET /bars matches no finding')]);
  });

  it('does not fail when it may belong to another contract', async () => {
    const repository = Repository.of({ 'routes.yaml': withExemptions(exemption('GET /bars')), 'v1.json': before });
    expect(await repository.compat(pair)).toMatchObject({ code: 0, stdout: 'No changes found.\n' });
  });
});

describe('a faulty exemption', () => {
  it.each([
    ['no reason', { reason: undefined }, /reason/],
    ['no end', { until: undefined }, /until/],
    ['no rule', { rule: undefined }, /rule/],
    ['a rule that is none', { rule: 'none' }, /is not a rule|the id of a rule/],
    ['a date that is none', { until: 'tomorrow' }, /until/],
  ])('%s', async (_name, more, words) => {
    const { code, stdout, stderr } = await changed(exemption('GET /bars', more)).compat(routes);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(words);
  });
});
