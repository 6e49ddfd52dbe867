import { z } from 'zod';
import { basePath, hostPort, network, publicOrigin } from './network.ts';
import { section } from './section.ts';
import { size, timerOrOff } from './units.ts';
import { unlessEmpty } from './unlessEmpty.ts';
import { filePath, flag, oneOf, token, workers } from './words.ts';

const timeouts = section({
  head: timerOrOff.prefault('10s').describe('How long the head of a request may take to arrive.'),
  body_idle: timerOrOff.prefault('30s').describe('How long a client may fall silent within a request body.'),
  keep_alive: timerOrOff.prefault('65s').describe('How long a connection of a client may idle.'),
});

const limits = section({
  head: size.prefault('16KiB').describe('The longest head of a request, its first line included.'),
  url: size.prefault('8KiB').describe('The longest request target.'),
});

const tls = section({
  cert: filePath.describe('A PEM file: the certificate and its chain.'),
  key: filePath.describe('A PEM file: the private key.'),
  hsts: flag.prefault(false).describe('Whether Strict-Transport-Security is sent.'),
});

/** The gateway itself. */
export const gateway = section({
  listen: hostPort.prefault('127.0.0.1:8080').describe('The address for clients.'),
  admin: hostPort.prefault('127.0.0.1:9901').describe('The address for operators.'),
  admin_token: unlessEmpty(token).describe(
    'What operators have to present, from this machine, too; needed where `admin` is not loopback. A variable without quotes that is empty counts as none.',
  ),
  admin_loopback: oneOf(['token', 'open'])
    .prefault('token')
    .describe(
      'Whether calls from this machine need the `admin_token`, where there is one. With open, a proxy on this machine may let in everybody.',
    ),
  base_path: basePath.prefault('/').describe('Where the API lives below a path: {base_path}/v1/…'),
  public_url: publicOrigin
    .optional()
    .describe(
      'The origin that clients use, in the index, the catalog, guides and problem bodies; without it their links are relative.',
    ),
  trusted_proxies: z
    .array(network)
    .transform((entries) => entries.flat())
    .prefault([])
    .describe('Networks whose X-Forwarded-* fields are believed: CIDRs, loopback, private.'),
  workers: workers.prefault(1).describe('Processes, or auto for one to each core.'),
  worker_timeout: timerOrOff
    .prefault('30s')
    .describe('How long a worker may give no sign of life before it is replaced.'),
  drain: timerOrOff.prefault('30s').describe('How long a stopping gateway waits for the requests in flight.'),
  timeouts: timeouts.prefault({}).describe('Towards clients.'),
  limits: limits.prefault({}).describe('Of requests, before any route is known.'),
  tls: tls.optional().describe('Serve clients over TLS.'),
});
