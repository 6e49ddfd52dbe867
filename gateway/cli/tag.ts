import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { formatFault, printable } from '../config/fault.ts';
import { parseConfig, readRoutes } from '../config/load.ts';
import { identifier } from '../config/schema/words.ts';
import type { Identifier } from '../config/snapshot.ts';
import { ClientIdentification, unknownClient } from '../usage/counting/identification.ts';
import { readSalt } from '../usage/ledger/file.ts';
import { UnansweredError } from './admin.ts';
import type { AddCommand } from './command.ts';
import { configOption } from './configOption.ts';
import type { ExitCode, Io } from './io.ts';

interface TagOptions {
  readonly config: string;
  readonly store?: string;
}

/** Longer than any field value that Node accepts by default (16 KiB for the whole head). */
const longestValue = 65_536;

export const addTag: AddCommand = (program, io, finish) => {
  program
    .command('tag')
    .description('Print what the usage ledger calls the client that sends the value on standard input.')
    .argument(
      '<identifier>',
      'an entry of usage.identify, such as header:x-api-key or jwt:sub; x-api-key for short',
      named,
    )
    .addOption(configOption(io.cwd))
    .option('--store <file>', 'the usage ledger (default: usage.store of --config)')
    .addHelpText('after', '\nExample:\n  version-gateway tag x-api-key < key\n')
    .action(async (by: Identifier, options: TagOptions, command: Command) =>
      finish(await tag(by, command.args[0] ?? '', options, io)),
    );
};

/** @throws UnansweredError, UnreadableFileError */
async function tag(by: Identifier, written: string, { config, store }: TagOptions, io: Io): Promise<ExitCode> {
  const { snapshot, faults } = parseConfig(readRoutes(config, io.cwd), config, { env: io.env, cwd: io.cwd });
  if (!snapshot) {
    for (const fault of faults) io.stderr.write(`${formatFault(fault)}\n`);
    return 1;
  }
  const { identify } = snapshot.usage;
  if (!identify.some((one) => spelled(one) === spelled(by))) {
    const known = identify.map(spelled).join(', ');
    throw new UnansweredError(
      `${config} does not identify clients by ${spelled(by)}.  usage.identify has ${known}: name one of these.`,
    );
  }
  const salt = saltOf(store === undefined ? snapshot.usage.store : resolve(io.cwd, store));
  const value = await valueFrom(io, written);
  const client = clientWith(value, by, salt);
  if (client === unknownClient) {
    throw new UnansweredError(`A client with this value is not told apart: ${reasons[by.by]}.`);
  }
  io.stdout.write(`${client}\n`);
  return 0;
}

const reasons: Readonly<Record<Identifier['by'], string>> = {
  header: 'it is blank',
  jwt: 'it is not a JWT, or its payload lacks this claim',
  'user-agent': 'it does not begin with the name of a product',
  address: 'it is not an IP address',
};

function clientWith(value: string, by: Identifier, salt: string): string {
  const identification = new ClientIdentification([by], salt);
  switch (by.by) {
    case 'address':
      return identification.clientOf([], value);
    case 'jwt':
      return identification.clientOf(['authorization', /^bearer /i.test(value) ? value : `Bearer ${value}`], '');
    case 'user-agent':
      return identification.clientOf(['user-agent', value], '');
    case 'header':
      return identification.clientOf([by.name, value], '');
  }
}

async function valueFrom({ stdin, stdinIsTTY }: Io, written: string): Promise<string> {
  const example = `version-gateway tag ${printable(written)} < FILE`;
  // What is typed at a prompt stays on the screen.
  if (!stdin || stdinIsTTY)
    throw new UnansweredError(`The value is read from standard input, not typed.  Run ${example}`);
  const text = (await stdin()).replace(/\r?\n$/, '').trim();
  if (text === '') throw new UnansweredError(`Standard input is empty.  Run ${example}`);
  if (/[\r\n]/.test(text)) throw new UnansweredError('Standard input has several lines.  Give one value at a time.');
  if (text.length > longestValue) throw new UnansweredError('Standard input is longer than a header field may be.');
  // Node reads field values as Latin-1, one character a byte.
  return Buffer.from(text, 'utf8').toString('latin1');
}

function saltOf(file: string): string {
  try {
    return readSalt(file);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UnansweredError(
      `${printable(`${file} cannot be read as a usage ledger: ${reason.replace(/\.$/, '')}.`)}  The gateway creates it at its first start; --store names another file.`,
    );
  }
}

/** @throws InvalidArgumentError */
function named(text: string): Identifier {
  for (const spelling of [text, `header:${text}`]) {
    const { success, data } = identifier.safeParse(spelling);
    if (success) return data;
  }
  throw new InvalidArgumentError('Write header:NAME, jwt:CLAIM, user-agent or address.');
}

function spelled(by: Identifier): string {
  if (by.by === 'header') return `header:${by.name}`;
  return by.by === 'jwt' ? `jwt:${by.claim}` : by.by;
}
