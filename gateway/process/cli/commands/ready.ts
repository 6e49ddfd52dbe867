import { Option } from 'commander';
import { UnreadableFileError } from '../../../config/fault.ts';
import { HttpFailure } from '../../../shared/httpClient.ts';
import { isMap } from '../../../shared/json.ts';
import { printable } from '../../../shared/text.ts';
import { AdminError, parsedJson, requestAdmin } from '../adminClient.ts';
import type { AddCommand, ExitCode, Io } from '../io.ts';
import {
  type AdminEndpointOptions,
  addAdminEndpointOptions,
  adminEndpointOf,
  type TimeArgument,
  timeoutArgument,
} from '../options.ts';

interface ReadyOptions extends AdminEndpointOptions {
  readonly timeout: TimeArgument;
}

export const addReady: AddCommand = (program, io, finish) => {
  addAdminEndpointOptions(program.command('ready'))
    .description('Check whether a running gateway is ready for traffic. Usable as the health check of a container.')
    .addOption(
      new Option('--timeout <duration>', 'how long to wait for the response')
        .argParser(timeoutArgument)
        .default(timeoutArgument('2s'), '2s'),
    )
    .action(async (options: ReadyOptions) => finish(await ready(options, io)));
};

/** Exits with 1 even if the gateway does not answer: Docker reserves exit code 2 of a health check. */
async function ready({ timeout, ...options }: ReadyOptions, io: Io): Promise<ExitCode> {
  const notReady = (reason: string): ExitCode => {
    io.stderr.write(`not ready: ${reason}\n`);
    return 1;
  };
  let adminName = '';
  try {
    const { origin, name } = adminEndpointOf(options, io);
    adminName = name;
    const { answer, text } = await requestAdmin(`${origin}/readyz`, { deadlineMs: timeout.ms });
    if (answer.status === 503) return notReady(reasonIn(text));
    if (answer.status !== 200) return notReady(`${adminName}/readyz answers ${answer.status}`);
    io.stdout.write('ready\n');
    return 0;
  } catch (error) {
    if (error instanceof AdminError || error instanceof UnreadableFileError) return notReady(error.message);
    if (error instanceof HttpFailure) return notReady(`${adminName} does not answer (${error.message})`);
    throw error;
  }
}

/** The reason that the gateway gives: it is starting or draining, or its configuration is refused. */
function reasonIn(text: string): string {
  const body = parsedJson(text);
  const reason = isMap(body) ? body['reason'] : undefined;
  return typeof reason === 'string' ? printable(reason) : 'it answers 503';
}
