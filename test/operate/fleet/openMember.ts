import { snapshotFrom } from '../../../gateway/config/load.ts';
import { Fleet } from '../../../gateway/operate/fleet/fleet.ts';
import { ledgerSettingsOf } from '../../../gateway/process/runtime/ledgerMaintenance.ts';
import { ThreadedLedger } from '../../../gateway/usage/ledger/threadedLedger.ts';

export interface MemberSettings {
  readonly store: string;
  /** The ledger file of the member. */
  readonly usage: string;
  readonly name?: string;
  readonly spool?: string;
  readonly members?: string | undefined;
  readonly heartbeat?: string;
  /** The file of the fleet's thread. */
  readonly worker?: URL | undefined;
}

/** The ledger and the fleet of a gateway, without the gateway. */
export async function openMember(
  { store, usage, name = 'gw-1', spool = '100MiB', members, heartbeat, worker }: MemberSettings,
  notice: (line: string) => void,
): Promise<{ readonly fleet: Fleet; readonly ledger: ThreadedLedger }> {
  const snapshot = snapshotFrom({
    routes: { '/v1': 'http://127.0.0.1:1' },
    usage: { store: usage },
    fleet: {
      store,
      name,
      ...(heartbeat === undefined ? { heartbeat: '100ms', silent_after: '1s' } : { heartbeat, silent_after: '1h' }),
      spool,
      ...(members && { members }),
    },
  });
  if (snapshot.fleet === undefined) throw new Error('the snapshot has no fleet');
  const ledger = await ThreadedLedger.open(ledgerSettingsOf(snapshot), notice);
  const fleet = await Fleet.start(snapshot.fleet, { ledger, notice, ...(worker && { worker }) });
  // Counts are sent only after the first heartbeat. Not awaited: the store may be down.
  void fleet.member.register(snapshot, Date.now);
  return { fleet, ledger };
}
