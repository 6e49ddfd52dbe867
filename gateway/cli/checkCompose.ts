import { resolve } from 'node:path';
import { compareWithCompose } from '../config/compose/compare.ts';
import { readProject } from '../config/compose/project.ts';
import type { Fault } from '../config/fault.ts';
import { isSecret } from '../config/fault.ts';
import { decode, parseConfig } from '../config/load.ts';
import { realPathOf } from '../config/location.ts';
import type { ConfigResult } from '../config/validate.ts';
import { stageOf } from '../lifecycle/stage.ts';
import { plural } from '../shared/text.ts';
import { block, type CheckReport, type ComposeFacts, overview } from './checkReport.ts';
import { runningServices } from './composeEngine.ts';
import type { Io } from './io.ts';
import type { Paint } from './paint.ts';

interface Beside {
  readonly verdict: ConfigResult;
  readonly facts: ComposeFacts;
  /** Of the Compose files, by their names in faults. */
  readonly texts: ReadonlyMap<string, string>;
}

interface Options {
  readonly config: string;
  readonly compose: readonly string[];
  readonly composeService?: string;
}

/** Holds a routes.yaml against the Compose files of its gateway. @throws UnreadableFileError */
export async function checkBeside(options: Options, bytes: Uint8Array, io: Io, now: number): Promise<Beside> {
  const { config, compose, composeService } = options;
  const project = readProject(compose, io.env, io.cwd);
  const text = decode(bytes);
  const running = project.faults.length > 0 ? undefined : await runningServices(project.name, io.cwd, io.env);
  const facts = { files: compose, project: project.name, gateway: null, running: running ?? null };
  const texts = project.texts;
  if (text === undefined) return { verdict: parseConfig(bytes, config), facts, texts };
  const routes = {
    text,
    file: config,
    path: realPathOf(resolve(io.cwd, config)),
    now,
    isRetired: (version: Parameters<typeof stageOf>[0]) => stageOf(version, now) === 'retired',
  };
  const held = compareWithCompose(routes, project, composeService, running && new Set(running));
  return { verdict: held.verdict, facts: { ...facts, gateway: held.gateway ?? null }, texts };
}

/** For people; a line of a Compose file is shown only where nothing in it sounds like a secret. */
export function besideAsText(
  { file, text, verdict, now }: CheckReport,
  { facts, texts }: Beside,
  paint: Paint,
): string {
  const { snapshot, faults, warnings } = verdict;
  const show =
    (style: 'red' | 'yellow') =>
    (fault: Fault): string => {
      const from = fault.file === file ? text : withoutSecrets(texts.get(fault.file ?? '') ?? '', fault.line);
      return block(fault, from, paint, style).join('\n');
    };
  const blocks = [...faults.map(show('red')), ...warnings.map(show('yellow'))];
  const both = `${file} and ${facts.files.join(', ')}`;
  const counts = [
    faults.length > 0 ? plural(faults.length, 'fault') : '',
    warnings.length > 0 ? plural(warnings.length, 'warning') : '',
  ].filter((part) => part !== '');
  const style = faults.length > 0 ? 'red' : warnings.length > 0 ? 'yellow' : 'green';
  const fits = faults.length > 0 ? 'do not fit together' : 'fit together';
  const heading = paint(style, counts.length > 0 ? `${both} ${fits}: ${counts.join(', ')}.` : `${both} ${fits}.`);
  const told = facts.gateway === null ? [] : [`  as the service ${facts.gateway} sees it`];
  return `${[...blocks, [heading, ...told, ...(snapshot ? overview(snapshot, now) : [])].join('\n')].join('\n\n')}\n`;
}

// An environment is often a list, `- ADMIN_TOKEN=…`, in which no key ends where the secret begins.
function withoutSecrets(text: string, line = 1): string {
  const lines = text.split(/\r\n?|\n/);
  return isSecret([(lines[line - 1] ?? '').replaceAll('/', '')]) ? '' : text;
}
