// node bench/adapters.ts: measures the operations of an adapter on a body of 1 KiB and one of 12 KiB. Prints the time of
// JSON.parse with JSON.stringify alone, the time to parse, adapt and stringify the body, and their ratio. The two measurements
// alternate, so that a busy machine slows both.

import { parseConfig } from '../gateway/config/load.ts';
import { parseExact } from '../gateway/contracts/adapters/serving/exactJson.ts';
import { compileOperations } from '../gateway/contracts/adapters/serving/transform.ts';

const routes = `
routes:
  /v1:
    upstream: http://127.0.0.1:3001
    contract: services/v1/contract/openapi.yaml
    adapter:
      from: /v2
      routes:
        GET /cocktails:
          to: GET /cocktails
          response:
            200:
              - each:
                  cocktails:
                    [{ rename: { name: title } }, { convert: { price: decimal_string(2) } }, { drop: glass }]
  /v2: { upstream: "http://127.0.0.1:3002", contract: services/v2/contract/openapi.yaml }
`;

const { snapshot } = parseConfig(routes, 'bench.yaml');
const route = snapshot?.versions.get('v1')?.adapter?.routes[0];
if (!route || 'gone' in route) throw new Error('the adapter has no route');
const adapt = compileOperations(route.responses.get('200') ?? []);

/** A page of the menu, as v2 sends it. */
function page(cocktails: number): string {
  const ingredients = ['gin', 'campari', 'sweet vermouth'];
  const items = Array.from({ length: cocktails }, (_, index) => ({
    id: index + 1,
    name: `Negroni ${index + 1}`,
    base: 'gin',
    price: 9.5,
    ingredients,
    glass: 'tumbler',
  }));
  return JSON.stringify({ cocktails: items, unseen: 0 });
}

/** The mean of 1000 calls. */
function microsPerCall(call: () => string): number {
  let length = 0;
  const start = process.hrtime.bigint();
  for (let count = 0; count < 1000; count += 1) length += call().length;
  if (length === 0) throw new Error('nothing was written');
  return Number(process.hrtime.bigint() - start) / 1e6;
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

for (const [name, cocktails] of [
  ['1 KiB', 9],
  ['12 KiB', 105],
] as const) {
  const body = page(cocktails);
  const parseAndStringify = (): string => JSON.stringify(JSON.parse(body));
  const adapted = (): string => JSON.stringify(adapt(parseExact(body)));
  for (const call of [parseAndStringify, adapted, parseAndStringify, adapted]) microsPerCall(call);
  const times = { plain: [] as number[], adapted: [] as number[], ratio: [] as number[] };
  for (let round = 0; round < 15; round += 1) {
    const [plainMicros, adaptedMicros] = [microsPerCall(parseAndStringify), microsPerCall(adapted)];
    times.plain.push(plainMicros);
    times.adapted.push(adaptedMicros);
    times.ratio.push(adaptedMicros / plainMicros);
  }
  const [plainMedian, adaptedMedian, ratio] = [times.plain, times.adapted, times.ratio].map(median);
  process.stdout.write(
    `${name.padEnd(7)} (${body.length} bytes)  parse and stringify ${plainMedian?.toFixed(1)} µs  adapted ${adaptedMedian?.toFixed(1)} µs  ratio ${ratio?.toFixed(2)}\n`,
  );
}
