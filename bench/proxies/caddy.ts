import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { programVersion } from '../support/versions.ts';
import { headers, successorLink } from '../support/workload.ts';
import type { ProxyDefinition } from './definition.ts';

const quoted = (text: string): string => `\`${text}\``;

const accessLogTo = (file: string): string => `  log {
    output file ${file} {
      roll_disabled
    }
    format json
  }
`;

export const caddy: ProxyDefinition = {
  name: 'Caddy',
  version: programVersion('caddy', ['version']),
  command: ({ port, backendPort, folder, certificate, accessLog }) => {
    const file = join(folder, 'Caddyfile');
    writeFileSync(
      file,
      `{
  admin off
  auto_https off
}
${certificate ? 'https' : 'http'}://127.0.0.1:${port} {
  bind 127.0.0.1
${certificate ? `  tls ${certificate.cert} ${certificate.key}\n` : ''}${accessLog ? accessLogTo(accessLog) : ''}  handle_path /v1/* {
    reverse_proxy 127.0.0.1:${backendPort} {
      header_down Deprecation ${headers.deprecation}
      header_down Sunset ${quoted(headers.sunset)}
      header_down +Link ${quoted(successorLink('{http.request.uri.path}'))}
      transport http {
        keepalive_idle_conns_per_host 256
      }
    }
  }
}
`,
    );
    const args = ['run', '--config', file, '--adapter', 'caddyfile'];
    return {
      program: 'caddy',
      args,
      env: { GOMAXPROCS: '1', HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    };
  },
};
