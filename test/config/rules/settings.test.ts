import { describe, expect, it } from 'vitest';
import { parseConfig, snapshotFrom } from '../../../gateway/config/load.ts';

const otlp = 'http://collector:4318';

function telemetryOf(telemetry: object | undefined, env: NodeJS.ProcessEnv = {}) {
  return snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:3001' }, telemetry }, '.', env).telemetry;
}

describe('telemetry', () => {
  it.each([
    ['without its section', undefined],
    ['with an empty section', {}],
    ['with a variable that is empty', { otlp: `\${OTEL_EXPORTER_OTLP_ENDPOINT:-}`, sample: '5%' }],
  ])('is off %s', (_name, telemetry) => expect(telemetryOf(telemetry)).toBeUndefined());

  it('has defaults', () => expect(telemetryOf({ otlp })).toEqual({ otlp, sample: 0.01, metrics: false }));

  it.each([
    ['http://collector:4318/', 'http://collector:4318'],
    ['https://collector.example/otlp/', 'https://collector.example/otlp'],
    [`\${OTEL_EXPORTER_OTLP_ENDPOINT}`, 'http://elsewhere:4318/a'],
  ])('exports to %s', (given, used) => {
    expect(telemetryOf({ otlp: given }, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://elsewhere:4318/a' })?.otlp).toBe(used);
  });

  it.each([
    ['true', undefined],
    ['TRUE', undefined],
    ['false', { otlp, sample: 0.01, metrics: false }],
  ])('with OTEL_SDK_DISABLED=%s', (value, expected) => {
    expect(telemetryOf({ otlp }, { OTEL_SDK_DISABLED: value })).toEqual(expected);
  });

  it.each([
    ['always_on', undefined, 1],
    ['parentbased_always_on', undefined, 1],
    ['parentbased_always_off', undefined, 0],
    ['traceidratio', '0.25', 0.25],
    ['parentbased_traceidratio', '0.25', 0.25],
    ['parentbased_traceidratio', undefined, 1],
    ['parentbased_traceidratio', 'much', 0.01],
    ['parentbased_traceidratio', '2', 0.01],
    ['jaeger_remote', undefined, 0.01],
  ])('without sample takes it from OTEL_TRACES_SAMPLER=%s with the argument %s', (sampler, argument, sample) => {
    const env = { OTEL_TRACES_SAMPLER: sampler, ...(argument && { OTEL_TRACES_SAMPLER_ARG: argument }) };
    expect(telemetryOf({ otlp }, env)?.sample).toBe(sample);
    expect(telemetryOf({ otlp, sample: '7%' }, env)?.sample).toBe(0.07);
  });
});

it('a password of the store may come from a variable, also in quotes, which brackets need', () => {
  const faultsOf = (store: string): string[] => {
    const text = `routes: { /v1: "http://127.0.0.1:3001" }\nfleet: { store: ${store} }\n`;
    return parseConfig(text, 'routes.yaml', { env: { STORE: 'postgres://a:b@db/c', PW: 'b' } }).faults.map(
      (one) => one.message,
    );
  };
  expect(faultsOf(`"\${STORE}"`)).toEqual([]);
  expect(faultsOf(`"postgres://a:\${PW}@db/c"`)).toEqual([]);
  expect(faultsOf('"postgres://a:b$$c@db/c"')).toEqual(['The URL contains a password.']);
});
