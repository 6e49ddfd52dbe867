import { nginxCommand, nginxVersion } from '../support/nginx.ts';
import { headers, successorLink } from '../support/workload.ts';
import type { ProxyDefinition } from './definition.ts';

const jsonLine =
  '{"time":"$time_iso8601","client":"$remote_addr","method":"$request_method","target":"$request_uri","status":$status,"bytes":$body_bytes_sent,"seconds":$request_time,"backend":"$upstream_addr"}';

export const nginx: ProxyDefinition = {
  name: 'nginx',
  version: nginxVersion,
  command: ({ port, backendPort, folder, certificate, accessLog }) =>
    nginxCommand(
      folder,
      `log_format line escape=json '${jsonLine}';
      upstream v1 { server 127.0.0.1:${backendPort}; keepalive 256; keepalive_requests 1000000000; }
      server {
        listen 127.0.0.1:${port}${certificate ? ' ssl http2' : ''};
        ${certificate ? `ssl_certificate ${certificate.cert}; ssl_certificate_key ${certificate.key};` : ''}
        ${accessLog ? `access_log ${accessLog} line buffer=64k flush=1s;` : ''}
        keepalive_requests 1000000000;
        client_max_body_size 16m;
        location /v1/ {
          rewrite ^/v1(/.*)$ $1 break;
          proxy_pass http://v1;
          proxy_http_version 1.1;
          proxy_set_header Connection '';
          proxy_set_header Host $host;
          proxy_hide_header Deprecation;
          proxy_hide_header Sunset;
          add_header Deprecation '${headers.deprecation}' always;
          add_header Sunset '${headers.sunset}' always;
          add_header Link '${successorLink('$uri')}' always;
          # Streams bodies as the other proxies do, without temporary files.
          proxy_request_buffering off;
          proxy_max_temp_file_size 0;
        }
      }`,
    ),
};
