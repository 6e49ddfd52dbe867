import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { UnreadableFileError } from '../fault.ts';
import { decode, readText } from '../load.ts';
import type { Variables } from './interpolate.ts';

/** The variables of an env file; undefined if it cannot be read. */
export function envFile(file: string): Variables | undefined {
  try {
    return parseEnv(decode(readText(file)) ?? '');
  } catch (error) {
    if (error instanceof UnreadableFileError) return undefined;
    throw error;
  }
}

/** What Compose knows in a folder: its own environment, and `.env` below that. */
export function variablesIn(folder: string, env: Variables): Variables {
  return { ...envFile(resolve(folder, '.env')), ...env };
}

/** The name under which Compose starts it all, which is also how an engine finds its containers again. */
export function projectName(said: string | undefined, folder: string, variables: Variables): string {
  const name = variables['COMPOSE_PROJECT_NAME'] || said || folder.split('/').at(-1) || '';
  return name
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '')
    .replace(/^[_-]+/, '');
}
