// node bench/grease.ts: measures how long it takes to add unknown members to bodies of 1, 12 and 124 KiB, one in every object.
// Prints the time of JSON.parse alone and the time of the whole work. JSON.parse is a part of the work, because it checks the body
// first. The two measurements alternate, so that a busy machine slows both.
import { greasePlanOf } from '../gateway/contracts/grease/greasePlan.ts';
import { linkedNodes, withUnknownMembers } from '../gateway/contracts/grease/splice.ts';

const text = { type: 'string' };
const cocktail = { type: 'object', properties: { id: { type: 'integer' }, name: text, base: text, glass: text } };
const schema = { type: 'object', properties: { cocktails: { type: 'array', items: cocktail } } };
const plan = greasePlanOf([['/cocktails', new Map([['200', { content: { 'application/json': { schema } } }]])]], {});
const [[, byStatus] = ['', []]] = plan.routes;
const [[, byType] = ['', []]] = byStatus;
const [[, rootIndex] = ['', -1]] = byType;
const root = linkedNodes(plan)[rootIndex];
if (!root) throw new Error('the plan changes nothing');

function page(cocktails: number): Buffer {
  const ingredients = ['gin', 'campari', 'sweet vermouth'];
  const items = Array.from({ length: cocktails }, (_, index) => {
    return { id: index + 1, name: `Negroni ${index + 1}`, base: 'gin', price: 9.5, ingredients, glass: 'tumbler' };
  });
  return Buffer.from(JSON.stringify({ cocktails: items, unseen: 0 }));
}

/** The mean of 200 calls. */
function microsPerCall(call: () => number): number {
  let sum = 0;
  const start = process.hrtime.bigint();
  for (let count = 0; count < 200; count += 1) sum += call();
  if (sum === 0) throw new Error('nothing was written');
  return Number(process.hrtime.bigint() - start) / 200_000;
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

for (const cocktails of [9, 105, 1025]) {
  const body = page(cocktails);
  const parse = (): number => Object.keys(JSON.parse(body.toString()) as object).length;
  const splice = (): number => withUnknownMembers(body, root, plan.takenNames)?.length ?? 0;
  for (const call of [parse, splice, parse, splice]) microsPerCall(call);
  const [parseTimes, spliceTimes]: [number[], number[]] = [[], []];
  for (let round = 0; round < 15; round += 1) {
    parseTimes.push(microsPerCall(parse));
    spliceTimes.push(microsPerCall(splice));
  }
  process.stdout.write(
    `${body.length} bytes, ${cocktails + 1} members  JSON.parse ${median(parseTimes).toFixed(1)} µs  all ${median(spliceTimes).toFixed(1)} µs\n`,
  );
}
