import type { Compose } from './compose.ts';

/** Every file below a folder of a container. */
export async function eachFile(compose: Compose, service: string, folder: string): Promise<string[]> {
  const script = `
    const { readdirSync } = require('node:fs');
    for (const entry of readdirSync('${folder}', { recursive: true, withFileTypes: true }))
      if (!entry.isDirectory()) console.log(entry.parentPath + '/' + entry.name);`;
  return (await compose.exec(service, ['node', '-e', script])).trim().split(/\r?\n/);
}

/** What became of connecting to each of `targets`, `host:port`, from a container. */
export async function connections(compose: Compose, service: string, targets: readonly string[]): Promise<string[]> {
  const script = `
    const { connect } = require('node:net');
    const attempt = (target) => new Promise((done) => {
      const [host, port] = target.split(':');
      const socket = connect({ host, port, timeout: 2000 });
      const end = (word) => { socket.destroy(); done(word); };
      socket.on('connect', () => end('connected')).on('timeout', () => end('silence')).on('error', ({ code }) => end(code));
    });
    Promise.all(${JSON.stringify(targets)}.map(attempt)).then((all) => console.log(JSON.stringify(all)));`;
  return JSON.parse(await compose.exec(service, ['node', '-e', script])) as string[];
}
