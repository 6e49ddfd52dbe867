import { writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../config/temporary.ts';
import { run } from '../support/process.ts';
import { readmeBlock } from '../support/readme.ts';

const fieldsThatVary = ['content-length', 'etag', 'date', 'via', 'connection', 'keep-alive'];

it('the routes.yaml of the README serves the sample services, and answers as the README prints it', async () => {
  const [v1, v2] = await Promise.all(['v1', 'v2'].map(startService));
  const file = readmeBlock('yaml', 'routes:')
    .replace('http://127.0.0.1:3001', v1 ?? '')
    .replace('http://127.0.0.1:3002', v2 ?? '');
  const routes = join(temporaryFolder(), 'routes.yaml');
  writeFileSync(routes, file);
  const anyPorts = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'];
  const gateway = run(process.execPath, ['gateway/main.ts', 'start', '--config', routes, ...anyPorts]);
  const [, base] = await gateway.printed(/listens on (\S+)/);

  const calls = readmeBlock('console', 'curl -i')
    .trim()
    .split(/^\$ curl -i http:\/\/127\.0\.0\.1:8080/m)
    .slice(1);
  expect(calls.map((call) => call.slice(0, 3))).toEqual(['/v1', '/v2']);
  for (const call of calls) {
    const [path = '', ...printed] = call.trim().split('\n');
    const answer = await answerTo(`${base}${path}`);
    expect(answer).toEqual(printed.filter((line) => line !== '…'));
  }
});

async function startService(name: string): Promise<string> {
  const service = run(process.execPath, [`services/${name}/server.ts`], { PORT: '0' });
  return (await service.printed(/listening on (\S+)/))[1] as string;
}

/** As `curl -i` prints it, without the fields that are not the same each time. */
async function answerTo(url: string): Promise<string[]> {
  const response = await new Promise<IncomingMessage>((resolve) => get(url, resolve));
  const lines = [`HTTP/1.1 ${response.statusCode} ${response.statusMessage}`];
  for (let at = 0; at < response.rawHeaders.length; at += 2) {
    const name = response.rawHeaders[at] ?? '';
    if (!fieldsThatVary.includes(name.toLowerCase())) lines.push(`${name}: ${response.rawHeaders[at + 1]}`);
  }
  return [...lines, await text(response)];
}
