import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { freePort } from '../../../bench/support/ports.ts';
import { provideBaseImage } from './baseImage.ts';
import { type CleanupSteps, cleanUpAfter, runCleanup } from './cleanup.ts';
import { composeWith } from './compose.ts';
import { type Engine, findEngine } from './engine.ts';
import { withTimeout } from './programs.ts';
import { copyProject, firstCommand } from './project.ts';

/** A copy of this project, and the variables with which Compose runs it. */
export interface ComposeProject {
  readonly folder: string;
  readonly env: Record<string, string>;
  /** Whether the engine was started for these tests. */
  readonly hasOwnEngine: boolean;
}

declare module 'vitest' {
  interface ProvidedContext {
    /** A string: why the tests are skipped. */
    composeProject: ComposeProject | string;
  }
}

/** Prepares the engine and the images for all test files. Returns a function that stops what it started. */
export default async function setup(vitest: TestProject): Promise<() => Promise<void>> {
  const cleanup: CleanupSteps = [];
  try {
    vitest.provide('composeProject', await prepare(cleanup));
  } catch (error) {
    await cleanUpAfter(error, cleanup);
  }
  return () => runCleanup(cleanup);
}

async function prepare(cleanup: CleanupSteps): Promise<ComposeProject | string> {
  const engine = await findEngine(cleanup);
  if (typeof engine === 'string') {
    console.log(`\nThe container tests are SKIPPED: ${engine}.\n`);
    return engine;
  }
  const folder = copyProject();
  cleanup.push(() => rmSync(folder, { recursive: true, force: true }));
  execFileSync('sh', ['-c', firstCommand], { cwd: folder });
  await provideBaseImage(engine, cleanup);
  // Compose publishes ports on all interfaces.
  const port = async (): Promise<string> => String(await freePort('0.0.0.0'));
  const ports = { GATEWAY_PORT: await port(), ADMIN_PORT: await port() };
  const project: ComposeProject = {
    folder,
    env: { ...engine.env, ...ports, COMPOSE_PROJECT_NAME: projectName(engine) },
    hasOwnEngine: engine.startedHere,
  };
  const compose = composeWith(project);
  cleanup.push(() =>
    withTimeout(60, 'docker-compose down', compose.down(engine.startedHere ? [] : ['--rmi', 'local'])),
  );
  const startedAt = performance.now();
  await withTimeout(400, 'docker-compose build', compose.build());
  console.log(`images built in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  return project;
}

/** In an engine of our own the name is fixed, so that the next run finds its images. Other engines may be shared. */
function projectName({ startedHere }: Engine): string {
  return startedHere ? 'version-gateway-test' : `version-gateway-test-${randomBytes(4).toString('hex')}`;
}
