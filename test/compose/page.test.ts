import { describe, expect, it } from 'vitest';
import { commandsOf, runAsWritten } from './support/page.ts';
import { answered, skipped, until, useStack } from './support/stack.ts';

const curl = /^curl .*(\/v\d)/;

describe.skipIf(skipped)('docs/containers.md', () => {
  const { site, url, admin } = useStack();

  it.each(commandsOf('docs/containers.md'))('%s', async (command) => {
    if (curl.test(command)) await answered(url + (/8080(\S+)/.exec(command)?.[1] ?? ''));
    if (command.includes(' exec ')) await until(async () => (await fetch(`${admin}/readyz`)).ok, 'the gateway', 30_000);
    const { code, stdout } = await runAsWritten(command, site);
    expect([code, stdout]).toEqual([0, curl.test(command) ? expect.stringContaining('200 OK') : expect.any(String)]);
  });
});
