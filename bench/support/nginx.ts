import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from './children.ts';
import { programVersion } from './versions.ts';

export const nginxVersion = programVersion('nginx', ['-v']);

/** The command of an nginx with one worker, which writes only below `folder`. `http`: the content of its http block. */
export function nginxCommand(folder: string, http: string): Command {
  const file = join(folder, 'nginx.conf');
  const temporaryFileKinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  writeFileSync(
    file,
    `${process.getuid?.() === 0 ? 'user root;' : ''}
    worker_processes 1;
    daemon off;
    pid ${folder}/pid;
    error_log stderr error;
    events { worker_connections 8192; }
    http {
      # A request and its small body are read at once, so that nginx does not answer before the body has arrived.
      client_header_buffer_size 4k;
      access_log off;
      ${temporaryFileKinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join('\n')}
      ${http}
    }`,
  );
  return { program: 'nginx', args: ['-e', 'stderr', '-p', folder, '-c', file] };
}
