import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { expectAdaptedAnswers } from '../services/v1/exchanges.ts';
import { runAsWritten } from './support/page.ts';
import { skipped, useStack, waitForOk } from './support/stack.ts';

const page = readFileSync('docs/adapters.md', 'utf8');
const commands = /^```sh\n(cp examples.*?)^```$/ms.exec(page)?.[1]?.trim().split('\n') ?? [];

describe.skipIf(skipped)('docs/adapters.md', () => {
  const { compose, project, url } = useStack();

  it('serves the clients of v1 as written while its container is stopped', async () => {
    expect(commands).toHaveLength(4);
    for (const command of commands) {
      if (command.startsWith('curl')) await waitForOk(`${url}/v1/drinks/7`);
      const { code, stdout } = await runAsWritten(command, project);
      expect([command, code, stdout]).toEqual([command, 0, expect.any(String)]);
      if (command.startsWith('curl')) expect(stdout).toContain('"title":"Mojito"');
    }
    expect(await compose.containers('v1')).toEqual([]);
    expect(await compose.containers('v2')).toHaveLength(1);
    await expectAdaptedAnswers(url);
    expect(await runAsWritten('docker compose exec gateway version-gateway status --wait /v1', project)).toEqual({
      code: 0,
      stdout:
        '/v1 is served by an adapter from /v2, 0 requests in flight to its own backend, safe to stop the backend\n',
    });
  });
});
