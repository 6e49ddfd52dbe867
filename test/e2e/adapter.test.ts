import { it } from 'vitest';
import { expectAdaptedAnswers } from '../services/v1/exchanges.ts';
import { refusedUrl } from '../support/gateway.ts';
import { gatewayMain } from '../support/gatewayMain.ts';
import { run } from '../support/process.ts';
import { copyShippedRoutes } from '../support/shipped.ts';

it('clients of v1 get responses of its contract while only the gateway and v2 run', async () => {
  const v2 = run(process.execPath, ['services/v2/server.ts'], { PORT: '0' });
  const [, target = ''] = await v2.printed(/listening on (\S+)/);
  const env = { V1_URL: await refusedUrl(), V2_URL: target };
  const config = ['--config', copyShippedRoutes('examples/adapter.yaml')];
  const anyPorts = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'];
  const gateway = run(process.execPath, [gatewayMain, 'start', ...config, ...anyPorts], env);
  const [, base = ''] = await gateway.printed(/listens on (\S+)/);
  await gateway.printed(/readyz/);

  await expectAdaptedAnswers(base);
});
