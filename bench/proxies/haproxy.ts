import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { programVersion } from '../support/versions.ts';
import { headers, successorLink } from '../support/workload.ts';
import type { ProxyDefinition } from './definition.ts';

const quoted = (format: string): string => `'${format}'`;

const jsonLine =
  '{"time":"%[date,utime(%Y-%m-%dT%H:%M:%S)]","client":"%ci","method":"%HM","target":"%HU","status":%ST,"bytes":%B,"ms":%Ta,"backend":"%s"}';

export const haproxy: ProxyDefinition = {
  name: 'HAProxy',
  version: programVersion('haproxy', ['-v']),
  command: ({ port, backendPort, folder, certificate, accessLog }) => {
    const file = join(folder, 'haproxy.cfg');
    writeFileSync(
      file,
      `global
  nbthread 1
  maxconn 4500
${accessLog ? '  log stdout format raw local0\n' : ''}defaults
  mode http
  http-reuse always
  timeout connect 3s
  timeout client 60s
  timeout server 60s
frontend all
  bind 127.0.0.1:${port}${certificate ? ` ssl crt ${certificate.certAndKey} alpn h2,http/1.1` : ''}
${accessLog ? `  log global\n  log-format ${quoted(jsonLine)}\n` : ''}  http-request deny deny_status 404 unless { path_beg /v1/ }
  http-request set-var(txn.path) path,bytes(3)
  http-request set-path %[var(txn.path)]
  http-response set-header Deprecation ${headers.deprecation}
  http-response set-header Sunset ${quoted(headers.sunset)}
  http-response add-header Link ${quoted(successorLink('%[var(txn.path)]'))}
  default_backend v1
backend v1
  server one 127.0.0.1:${backendPort}
`,
    );
    // HAProxy cannot write logs to a file. Its standard output is redirected to the file.
    return { program: 'haproxy', args: ['-db', '-f', file], ...(accessLog && { output: accessLog }) };
  },
};
