import type { Compose } from './compose.ts';

/** All files below a folder of a container. */
export async function listFiles(compose: Compose, service: string, folder: string): Promise<string[]> {
  const script = `
    const { readdirSync } = require('node:fs');
    for (const entry of readdirSync('${folder}', { recursive: true, withFileTypes: true }))
      if (!entry.isDirectory()) console.log(entry.parentPath + '/' + entry.name);`;
  return (await compose.exec(service, ['node', '-e', script])).trim().split(/\r?\n/);
}

/** Connects from a container to each of `targets` (`host:port`). Returns `connected`, `timeout` or the error code for each. */
export async function tryConnections(compose: Compose, service: string, targets: readonly string[]): Promise<string[]> {
  const script = `
    const { connect } = require('node:net');
    const attempt = (target) => new Promise((done) => {
      const [host, port] = target.split(':');
      const socket = connect({ host, port, timeout: 2000 });
      const end = (result) => { socket.destroy(); done(result); };
      socket.on('connect', () => end('connected')).on('timeout', () => end('timeout')).on('error', ({ code }) => end(code));
    });
    Promise.all(${JSON.stringify(targets)}.map(attempt)).then((all) => console.log(JSON.stringify(all)));`;
  return JSON.parse(await compose.exec(service, ['node', '-e', script])) as string[];
}
