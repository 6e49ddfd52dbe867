import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { freePort } from '../../../bench/support/ports.ts';
import { provideBaseImage } from './baseImage.ts';
import { composeWith } from './compose.ts';
import { type Ending, undo, undoAfter } from './ending.ts';
import { type Engine, findEngine } from './engine.ts';
import { within } from './programs.ts';
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
  const ending: Ending = [];
  try {
    project.provide('site', await prepare(ending));
  } catch (error) {
    await undoAfter(error, ending);
  }
  return () => undo(ending);
}

async function prepare(ending: Ending): Promise<Site | string> {
  const engine = await findEngine(ending);
  if (typeof engine === 'string') {
    console.log(`\nThe container tests are SKIPPED: ${engine}.\n`);
    return engine;
  }
  const folder = copyProject();
  ending.push(() => rmSync(folder, { recursive: true, force: true }));
  execFileSync('sh', ['-c', firstCommand], { cwd: folder });
  await provideBaseImage(engine, ending);
  // Compose publishes on all interfaces.
  const port = async (): Promise<string> => String(await freePort('0.0.0.0'));
  const ports = { GATEWAY_PORT: await port(), ADMIN_PORT: await port() };
  const site: Site = { folder, env: { ...engine.env, ...ports, COMPOSE_PROJECT_NAME: projectName(engine) } };
  const compose = composeWith(site);
  ending.push(() => within(60, 'docker-compose down', compose.down(engine.isOurs ? [] : ['--rmi', 'local'])));
  const started = performance.now();
  await within(400, 'docker-compose build', compose.build());
  console.log(`images built in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return site;
}

/** One run at a time has an engine of our own, and finds its images again by their name. Others may be shared. */
function projectName({ isOurs }: Engine): string {
  return isOurs ? 'version-gateway-test' : `version-gateway-test-${randomBytes(4).toString('hex')}`;
}
