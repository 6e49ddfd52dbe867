import { describe, expect, it } from 'vitest';
import type { FleetOperations } from '../../../gateway/operate/admin/operations.ts';
import { fleetJson } from '../../../gateway/operate/fleet/fleetJson.ts';
import { FleetView, fleetFacts, stopBlockers } from '../../../gateway/operate/fleet/fleetView.ts';
import type { GatewayRow } from '../../../gateway/operate/fleet/membership.ts';
import { addressesOf } from '../../../gateway/shared/targetAddress.ts';
import { describedBody } from '../../support/describedAnswer.ts';
import { day, ledgerWith, row } from '../../support/ledgerWith.ts';
import { startAdmin } from '../../support/startAdmin.ts';
import { activeLoad, gatewayRow, retiredLoad } from '../fleet/gatewayRow.ts';

const now = Date.parse('2026-11-21T12:34:56Z');
const upstream = 'http://127.0.0.1:3001';
const routes = {
  '/v1': { upstream, deprecation: '2026-01-01', sunset: '2026-02-01' },
  '/v2': upstream,
  '/v0': { upstream: 'http://127.0.0.1:1', retired: true },
};

/** The operations of a fleet with these gateways; `forget` answers with `outcome`. */
function fleetOf(
  rows: readonly GatewayRow[],
  outcome: Awaited<ReturnType<FleetOperations['forget']>> = { forgotten: 1 },
) {
  const view = new FleetView(10_000);
  view.update({ rows, now, unheardAddresses: [] });
  const forgotten: [string, string][] = [];
  const operations: FleetOperations = {
    status: () => fleetJson(view),
    refusal: undefined,
    readGateways: async () => true,
    stopBlockers: (version, targets, isAdapted) =>
      stopBlockers(view, { version, addresses: addressesOf(targets), isAdapted }),
    facts: (version, quiet) => ({ ...fleetFacts(view, version, undefined, 10_000, quiet), remarksOnUnsent: [] }),
    createCountsQuestion: () => ({ id: now, at: now }),
    awaitCounts: async () => new Map(),
    forget: async (name, reason) => {
      forgotten.push([name, reason]);
      return outcome;
    },
  };
  return { operations, forgotten };
}

const used = () => ledgerWith([row('v2', 'x-client-id:web', now - day)], now - 100 * day).queries;

async function start(fleet: FleetOperations): Promise<string> {
  return `http://${await startAdmin(routes, used(), now, {}, fleet)}`;
}

describe('POST /api/fleet/forget', () => {
  const post = (origin: string, body: string, type = 'application/json') =>
    fetch(`${origin}/api/fleet/forget`, { method: 'POST', headers: { 'content-type': type }, body });

  it.each([
    ['no JSON', '{', 400],
    ['no name', '{"reason":"x"}', 400],
    ['an empty name', '{"name":"","reason":"x"}', 400],
    ['no reason', '{"name":"gw-3"}', 400],
    ['a blank reason', '{"name":"gw-3","reason":"  "}', 400],
    ['a reason of two lines', '{"name":"gw-3","reason":"a\\nb"}', 400],
    ['a long reason', JSON.stringify({ name: 'gw-3', reason: 'x'.repeat(301) }), 400],
    ['a list', '[]', 400],
  ])('refuses %s', async (_name, body, status) => {
    const { operations, forgotten } = fleetOf([]);
    expect((await post(await start(operations), body)).status).toBe(status);
    expect(forgotten).toEqual([]);
  });

  it('refuses a form, which any page can send', async () => {
    const { operations, forgotten } = fleetOf([]);
    expect((await post(await start(operations), 'name=gw-3', 'text/plain')).status).toBe(415);
    expect(forgotten).toEqual([]);
  });

  it.each([
    [
      { refused: 'Gateway gw-3 is heard.  Stop it first.' },
      409,
      'NOT_FORGOTTEN',
      'Gateway gw-3 is heard.  Stop it first.',
    ],
    [{ failure: 'ECONNREFUSED' }, 503, 'STORE_UNANSWERED', 'The shared store does not answer: ECONNREFUSED.'],
  ])('answers %j with its own problem', async (outcome, status, code, detail) => {
    const response = await post(await start(fleetOf([], outcome).operations), '{"name":"gw-3","reason":"sold"}');
    expect(response.status).toBe(status);
    expect(await describedBody('post', response)).toMatchObject({ code, detail });
  });

  it('passes the reason on', async () => {
    const { operations, forgotten } = fleetOf([]);
    const response = await post(await start(operations), '{"name":"gw-3","reason":"sold"}');
    expect(await describedBody('post', response)).toEqual({ forgotten: 1 });
    expect(forgotten).toEqual([['gw-3', 'sold']]);
  });
});

it('GET /api/fleet lists the gateways', async () => {
  const { operations } = fleetOf([gatewayRow('gw-2', now), gatewayRow('gw-3', now - 40_000)]);
  const { gateways } = await describedBody('get', await fetch(`${await start(operations)}/api/fleet`));
  expect(gateways).toMatchObject([
    { name: 'gw-2', state: 'heard' },
    { name: 'gw-3', state: 'silent' },
  ]);
});

it('a verdict counts the other gateways, and waits for a silent one', async () => {
  const versions = { v1: { ...activeLoad, in_flight: 2, waiting: 1 } };
  const { operations } = fleetOf([gatewayRow('gw-2', now, { versions }), gatewayRow('gw-3', now - 40_000)]);
  const response = await fetch(`${await start(operations)}/api/versions/v1/retirement`);
  expect(await response.json()).toMatchObject({
    answer: 'not yet',
    reasons: [
      {
        code: 'gateway_silent',
        text: 'Gateway gw-3 has not been heard for 40 s; its calls are missing from this ledger.',
      },
      { code: 'in_flight' },
    ],
    facts: { in_flight: 2, waiting: 1 },
  });
});

it('a verdict is yes if all gateways were heard', async () => {
  const { operations } = fleetOf([gatewayRow('gw-1', now), gatewayRow('gw-2', now)]);
  const response = await fetch(`${await start(operations)}/api/versions/v1/retirement`);
  expect(await response.json()).toMatchObject({ answer: 'yes', reasons: [{ code: 'nobody_left' }] });
});

it('the status names the gateways that block the stop of a retired version', async () => {
  const retired = { versions: { v0: retiredLoad(now - 1) } };
  const statusWith = async (rows: readonly GatewayRow[]) => {
    const response = await fetch(`${await start(fleetOf(rows).operations)}/api/status`);
    const { versions, fleet } = (await response.json()) as { versions: Record<string, unknown>[]; fleet: object };
    return {
      v0: versions.find(({ version }) => version === 'v0'),
      v1: versions.find(({ version }) => version === 'v1'),
      fleet,
    };
  };
  const blocked = await statusWith([
    gatewayRow('gw-1', now, retired),
    gatewayRow('gw-2', now, { versions: { v0: activeLoad } }),
  ]);
  expect(blocked.v0).toMatchObject({ safe_to_stop: false, known: true, blocked_by: ['gw-2 still serves it'] });
  const silent = await statusWith([gatewayRow('gw-1', now, retired), gatewayRow('gw-2', now - 41_000, retired)]);
  expect(silent.v0).toMatchObject({ safe_to_stop: false, known: false, blocked_by: ['gw-2 not heard for 41 s'] });
  // Before it is retired, nothing has to be waited for.
  expect(blocked.v1).not.toHaveProperty('blocked_by');
  expect(blocked.fleet).toMatchObject({ problem: null, refusal: null, gateways: [{ name: 'gw-1' }, { name: 'gw-2' }] });
  const safe = await statusWith([gatewayRow('gw-1', now, retired)]);
  expect(safe.v0).toMatchObject({ safe_to_stop: true, known: true, blocked_by: [] });
});
