import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { outputOf } from './programs.ts';

const packages = ['docker.io', 'docker-compose', 'debootstrap', 'iptables', 'iproute2', 'ca-certificates'];
const policy = '/usr/sbin/policy-rc.d';

/** Installs an engine from Debian's packages, without starting services. Returns the reason if that fails. */
export async function install(): Promise<string | undefined> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  console.log(`installing ${packages.join(', ')}`);
  const allowStarts = forbidStarts();
  try {
    await outputOf('apt-get', ['update'], env);
    await outputOf('apt-get', ['install', '-y', '--no-install-recommends', ...packages], env);
    return undefined;
  } catch (error) {
    return `the engine cannot be installed: ${error instanceof Error ? error.message : error}`;
  } finally {
    allowStarts();
  }
}

/** Debian runs this program before it starts a service; exit code 101 prevents the start. Returns a function that restores it. */
function forbidStarts(): () => void {
  const before = existsSync(policy) ? { text: readFileSync(policy), mode: statSync(policy).mode } : undefined;
  writeFileSync(policy, '#!/bin/sh\nexit 101\n');
  chmodSync(policy, 0o755);
  return () => {
    if (before === undefined) return rmSync(policy);
    writeFileSync(policy, before.text);
    chmodSync(policy, before.mode);
  };
}
