import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { day, row } from '../../support/ledgerWith.ts';
import { startOfRun } from './masks.ts';

/**
 * Writes the ledger of a gateway that ran for twenty days before the run. No call is within the minutes of the run on any day. `shop`: a
 * client with a key that a backend has accepted.
 */
export function seedLedger(store: string, shop: string): void {
  const at = (days: number, time: string): number =>
    Date.parse(`${new Date(startOfRun - days * day).toISOString().slice(0, 10)}T${time}:00Z`);
  let now = at(20, '05:00');
  const ledger = Ledger.open(
    { store, retention: 400 * day, tagKey: 'golden-tag-key-of-the-test' },
    { clock: { now: () => now } },
  );
  ledger.add([]);
  // The ledger covers the time up to the start of the run.
  now = startOfRun;
  const routes = { drink: 'GET /drinks/{id}', search: 'GET /legacy-search' };
  ledger.add([
    ...Array.from({ length: 19 }, (_, index) =>
      row('v4', 'x-client-id:acme', at(index + 1, '08:00'), { requests: 5, served: 5, route: routes.drink }),
    ),
    row('v4', 'x-client-id:bar', at(2, '09:00'), {
      requests: 40,
      served: 40,
      errors: 1,
      failing: 1,
      route: routes.drink,
    }),
    row('v4', 'x-client-id:bar', at(2, '09:00'), { requests: 2, served: 2, route: routes.search }),
    row('v4', shop, at(1, '09:00'), { requests: 3, served: 3, route: routes.drink }),
    row('v4', 'x-client-id:monitor', at(1, '09:00'), { requests: 60, served: 60, route: routes.drink }),
    row('v4', 'x-client-id:newcomer', at(0, '06:00'), { requests: 1, served: 1, route: routes.drink }),
    row('v5', 'x-client-id:bar', at(3, '09:00'), { requests: 12, served: 12, route: routes.search }),
    row('v6', 'x-client-id:acme', at(1, '12:00'), { requests: 100, served: 100, route: 'GET /cocktails/{id}' }),
    row('v6', 'x-client-id:bar', at(1, '12:00'), { requests: 30, served: 30, route: 'GET /cocktails/{id}' }),
    row('v7', 'user-agent:curl', at(1, '12:00'), { requests: 900, served: 900, route: 'GET /orders/{}' }),
    row('v1', 'user-agent:old-app', at(4, '12:00'), {
      requests: 7,
      served: 0,
      errors: 7,
      refused: 7,
      route: routes.drink,
      accepted: 0,
    }),
  ]);
  ledger.close();
}
