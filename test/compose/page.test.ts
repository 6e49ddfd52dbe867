import { describe, expect, it } from 'vitest';
import { commandsOf, runAsWritten } from './support/page.ts';
import { skipped, useStack, waitForOk, waitUntil } from './support/stack.ts';

const curlOfVersion = /^curl .*\/v\d/;

describe.skipIf(skipped)('docs/containers.md', () => {
  const { project, url, admin } = useStack();

  it.each(commandsOf('docs/containers.md'))('%s', async (command) => {
    if (curlOfVersion.test(command)) await waitForOk(url + (/8080(\S+)/.exec(command)?.[1] ?? ''));
    if (command.includes(' exec '))
      await waitUntil(async () => (await fetch(`${admin}/readyz`)).ok, 'the gateway to be ready');
    const { code, stdout } = await runAsWritten(command, project);
    expect([code, stdout]).toEqual([
      0,
      curlOfVersion.test(command) ? expect.stringContaining('200 OK') : expect.any(String),
    ]);
  });
});
