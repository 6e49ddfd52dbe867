// node writingMember.ts STORE LEDGER NAME: adds counts of the same clients to the ledger of a gateway and sends them to the store,
// until SIGTERM. Then it sends the rest. With `rest` as the fourth argument, it only sends what an earlier process has left.
import { setTimeout as sleep } from 'node:timers/promises';
import { row } from '../../usage/model.ts';
import { openMember } from './openMember.ts';

const [store = '', usage = '', name = '', rest] = process.argv.slice(2);
const { fleet, ledger } = await openMember({ store, usage, name }, console.log);
let isStopping = rest !== undefined;
process.on('SIGTERM', () => {
  isStopping = true;
});

const below = (limit: number): number => Math.floor(Math.random() * limit);
console.log('started');
while (!isStopping) {
  const first = Date.now() - 1;
  ledger.add(
    Array.from({ length: 30 }, () =>
      row({
        version: `v${1 + below(2)}`,
        client: `user-agent:c${below(20)}`,
        route: `GET /r${below(10)}`,
        requests: 1 + below(9),
        first,
      }),
    ),
  );
  await ledger.flush();
  await sleep(below(20));
}
while (fleet.outbox?.oldest !== undefined) {
  await ledger.flush();
  await sleep(20);
}
await fleet.stop(5_000);
await ledger.close();
