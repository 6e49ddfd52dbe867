import type { HostPort } from '../snapshot.ts';
import { optionalOrEmpty, scalar, section, WrongValue } from './scalar.ts';
import { size, timer } from './units.ts';
import { filePath, text } from './words.ts';

const storeUrl = scalar({
  accepts: ['string'],
  expected: 'a URL such as postgres://db.internal:5432/gateway',
  json: { type: 'string', pattern: '^postgres(ql)?://' },
  parse: (input): string | WrongValue => {
    if (!/^postgres(?:ql)?:\/\//.test(input)) return new WrongValue('is not a postgres:// URL');
    // The host may be empty: `postgres:///db?host=/run/postgresql` names a Unix socket.
    return URL.canParse(input.replace(/^postgres(?:ql)?:\/\/(?:\/|$)/, 'postgres://socket/'))
      ? input
      : new WrongValue('is not a URL');
  },
});

const membersUrl = scalar({
  accepts: ['string'],
  expected: 'dns://, a host name and the admin port, such as dns://gateways:9901',
  json: { type: 'string', pattern: '^dns://[^\\s:/]+:[0-9]{1,5}$', examples: ['dns://gateways:9901'] },
  parse: (input): HostPort | WrongValue => {
    const [, host, port] = /^dns:\/\/([^\s:/]+):(\d{1,5})$/.exec(input) ?? [];
    if (host === undefined) return new WrongValue('is not a dns:// URL with a port');
    const number = Number(port);
    return number >= 1 && number <= 65_535 ? { host, port: number } : new WrongValue('has no port from 1 to 65535');
  },
});

/** Several gateways that share one ledger. */
export const fleet = section({
  store: optionalOrEmpty(storeUrl).describe(
    'The PostgreSQL database that all gateways share. Without it, the gateway is not part of a fleet. A change takes effect at the next start.',
  ),
  password_file: filePath
    .optional()
    .describe('A file that contains the password of the database, if `store` has none.'),
  name: text('the name of this gateway')
    .optional()
    .describe('The name of this gateway in reports. It must be unique in the fleet. Default: the host name.'),
  heartbeat: timer.prefault('2s').describe('How often a gateway writes its state to the store.'),
  silent_after: timer
    .prefault('10s')
    .describe('A gateway counts as silent if it has not written its state for this long.'),
  members: membersUrl
    .optional()
    .describe(
      'A URL `dns://NAME:PORT`. NAME is a DNS name with the addresses of all gateways that should run, and PORT is their admin port. A silent gateway counts as gone if the name does not resolve to its address, and no connection to this address and port is accepted.',
    ),
  spool: size
    .prefault('512MiB')
    .describe(
      'The largest disk space for counts that wait while the store cannot be reached. If they need more, the oldest are added up over all routes, and later over all clients.',
    ),
});
