import type { HostPort } from '../snapshot.ts';
import { optionalOrEmpty, scalar, section, WrongValue } from './scalar.ts';
import { size, timer } from './units.ts';
import { filePath, oneOf, text } from './words.ts';

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
    'The PostgreSQL database that all gateways share. Without it, the gateway is not part of a fleet. A change takes effect at the next start. With `sslmode=verify-full`, the certificate and the host name of the server are verified; `sslrootcert` names the file of a private CA. The files of `sslrootcert`, `sslcert` and `sslkey` are relative to the folder of routes.yaml, and are read again when they change.',
  ),
  password_file: filePath
    .optional()
    .describe(
      'A file that contains the password of the database, such as a mounted Secret. It is read again when it changes, so a new password needs no restart.',
    ),
  name: text('the name of this gateway')
    .optional()
    .describe('The name of this gateway in reports. It must be unique in the fleet. Default: the host name.'),
  heartbeat: timer.prefault('2s').describe('How often a gateway writes its state to the store.'),
  silent_after: timer
    .prefault('10s')
    .describe('A gateway counts as silent if it has not written its state for this long.'),
  start: oneOf(['wait', 'serve'])
    .prefault('wait')
    .describe(
      'What a gateway does if it cannot reach the store when it starts. `wait`: it serves no clients until it has reached the store, and `/readyz` answers 503. `serve`: it serves clients and counts their requests on its disk. The other gateways cannot know of it, so with `serve` no version can be retired unless `members` is set. Give all gateways the same value.',
    ),
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
