import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { provideBaseImage } from './baseImage.ts';
import { composeWith } from './compose.ts';
import { findEngine } from './engine.ts';
import { freePort } from './freePort.ts';
import { copyProject, firstCommand } from './project.ts';

/** Where the stack runs; or why it does not. */
export interface Site {
  readonly folder: string;
  readonly env: Record<string, string>;
}

declare module 'vitest' {
  interface ProvidedContext {
    site: Site | string;
  }
}

/** An engine, the base image and the images of the project, for all test files; ends what it started. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const engine = await findEngine();
  if (typeof engine === 'string') {
    console.log(`\nThe container tests are SKIPPED: ${engine}.\n`);
    project.provide('site', engine);
    return async () => {};
  }
  const folder = copyProject();
  let forgetBase = async (): Promise<void> => {};
  const end = async (): Promise<void> => {
    await composeWith(site).down(engine.isOurs ? [] : ['--rmi', 'local']);
    await forgetBase();
    await engine.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const ports = { GATEWAY_PORT: String(await freePort()), ADMIN_PORT: String(await freePort()) };
  const site: Site = { folder, env: { ...engine.env, ...ports, COMPOSE_PROJECT_NAME: 'version-gateway-test' } };
  try {
    execFileSync('sh', ['-c', firstCommand], { cwd: folder });
    forgetBase = await provideBaseImage(engine);
    const started = performance.now();
    await composeWith(site).build();
    console.log(`images built in ${((performance.now() - started) / 1000).toFixed(1)} s`);
    project.provide('site', site);
    return end;
  } catch (error) {
    await end();
    throw error;
  }
}
