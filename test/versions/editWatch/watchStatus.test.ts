import { expect, it } from 'vitest';
import type { EditedValue } from '../../../gateway/config/writtenValues.ts';
import { lostRequestsEvents } from '../../../gateway/operate/notify/events.ts';
import { watchStatus } from '../../../gateway/versions/editWatch/watchStatus.ts';

/** The place of a value that an edit has changed. */
function edited(api: string | undefined, version: string | undefined, section: string): EditedValue {
  const key = [...(api === undefined ? [] : [`apis.${api}`]), section].join('.');
  return { version, api, section, key, line: 1, before: 'a', after: 'b', undo: `undo ${key}` };
}

function statusOf(version: string, changes: readonly string[], values: readonly EditedValue[]) {
  return watchStatus({
    version,
    jumped: 'yes',
    state: 'watching',
    edits: [{ at: 0, changes }],
    until: 60_000,
    before: { requests: 100, lost: {} },
    beforeMs: 60_000,
    after: { requests: 10, lost: { 502: 10 } },
    afterMs: 10_000,
    editedValues: () => values,
    foundAt: 10_000,
    recoveredAt: undefined,
    hasSilentWorker: false,
  });
}

const other = '/drinks/v1: target http://127.0.0.1:1 added';
const otherValue = edited('/drinks', '/drinks/v1', 'routes');

it.each([
  ['its own version', '/orders/v1: settings changed', edited('/orders', '/orders/v1', 'routes')],
  ['another version of its API', '/orders/v2: settings changed', edited('/orders', '/orders/v2', 'routes')],
  ['the whole API', '/orders/v1: removed', edited('/orders', undefined, 'apis')],
  ['the gateway', 'gateway: settings changed', edited(undefined, undefined, 'gateway')],
  ['the brownouts of its API', 'apis./orders.brownout: settings changed', edited('/orders', undefined, 'defaults')],
])('names what an edit has changed in %s, and not what it has changed in other APIs', (_where, change, value) => {
  const changes = [other, 'apis./drinks.brownout: settings changed', change];
  const values = [otherValue, edited('/drinks', undefined, 'defaults'), edited('/drinks', undefined, 'apis'), value];
  const status = statusOf('orders/v1', changes, values);
  expect(status.edits).toMatchObject([{ changes: [change] }]);
  expect(status.undo.map(({ key }) => key)).toEqual([value.key]);
  expect(lostRequestsEvents([status], 'gw')[0]?.data).toMatchObject({ edits: status.edits, undo: status.undo });
});

it.each([
  ['another API', other, otherValue],
  ['the API at the root', '/v1: removed', edited(undefined, '/v1', 'routes')],
])('shows a change of %s to the operator only, who may know that both share a backend', (_where, change, value) => {
  const status = statusOf('orders/v1', [change], [value]);
  expect(status).toMatchObject({ edits: [{ changes: [change] }], undo: [{ key: value.key }], undo_lines: 1 });
  const [event] = lostRequestsEvents([status], 'gw');
  expect(event?.data).toMatchObject({ edits: [{ changes: [] }], undo: [] });
  expect(JSON.stringify(event)).not.toContain(change);
  expect(JSON.stringify(event)).not.toContain(value.undo);
});

it('tells the receivers of the root what an edit has changed in another API', () => {
  const status = statusOf('v1', [other], [otherValue]);
  expect(lostRequestsEvents([status], 'gw')[0]?.data).toMatchObject({ edits: status.edits, undo: status.undo });
});
