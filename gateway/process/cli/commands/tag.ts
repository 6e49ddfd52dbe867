import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { identifier } from '../../../config/schema/words.ts';
import type { Identifier } from '../../../config/snapshot.ts';
import { messageOf, printable } from '../../../shared/text.ts';
import { ClientIdentification, saltFrom, unknownClient } from '../../../usage/counting/identification.ts';
import { readSalt } from '../../../usage/ledger/file.ts';
import { type AddCommand, type ExitCode, type Io, UsageError } from '../io.ts';
import { configOption, snapshotOf } from '../options.ts';

interface TagOptions {
  readonly config: string;
  readonly store?: string;
}

/** Longer than usual header fields: `gateway.limits.head` is 16 KiB by default, for the whole head. */
const maxValueCharacters = 65_536;

export const addTag: AddCommand = (program, io, finish) => {
  program
    .command('tag')
    .description('Read the identifier of a client from standard input, and print the tag that the usage ledger stores.')
    .argument(
      '<identifier>',
      'entry of usage.identify, such as header:x-api-key (or just x-api-key) or jwt:sub',
      identifierArgument,
    )
    .addOption(configOption(io.cwd))
    .option(
      '--store <file>',
      'take the salt of the tags from this ledger (default: from usage.tag_key, or else from the ledger in usage.store)',
    )
    .addHelpText('after', '\nExample:\n  version-gateway tag x-api-key < key\n')
    .action(async (entry: Identifier, options: TagOptions, command: Command) =>
      finish(await tag(entry, command.args[0] ?? '', options, io)),
    );
};

/** @throws UsageError, UnreadableFileError */
async function tag(entry: Identifier, writtenEntry: string, { config, store }: TagOptions, io: Io): Promise<ExitCode> {
  const snapshot = snapshotOf(config, io);
  const { identify } = snapshot.usage;
  if (!identify.some((one) => nameOf(one) === nameOf(entry))) {
    const identifierList = identify.map(nameOf).join(', ');
    throw new UsageError(
      `${config} does not identify clients by ${nameOf(entry)}.  Choose an entry of usage.identify: ${identifierList}.`,
    );
  }
  const { tagKey } = snapshot.usage;
  const salt =
    store === undefined && tagKey !== undefined ? saltFrom(tagKey) : saltOf(store ?? snapshot.usage.store, io.cwd);
  const value = await valueFrom(io, writtenEntry);
  const client = clientWith(value, entry, salt);
  if (client === unknownClient) {
    throw new UsageError(`This value does not identify a client: ${reasonsByKind[entry.by]}.`);
  }
  io.stdout.write(`${client}\n`);
  return 0;
}

/** The kind of an entry → why a value does not identify a client. */
const reasonsByKind: Readonly<Record<Identifier['by'], string>> = {
  header: 'it is blank',
  jwt: 'it is not a JWT, or its payload does not have this claim',
  'user-agent': 'it does not start with a product name',
  address: 'it is not an IP address',
};

/** Only the entry `address` uses the address of the client. */
const noAddress = '';

function clientWith(value: string, entry: Identifier, salt: string): string {
  const identification = new ClientIdentification([entry], salt);
  switch (entry.by) {
    case 'address':
      return identification.clientOf([], value);
    case 'jwt':
      return identification.clientOf(['authorization', /^bearer /i.test(value) ? value : `Bearer ${value}`], noAddress);
    case 'user-agent':
      return identification.clientOf(['user-agent', value], noAddress);
    case 'header':
      return identification.clientOf([entry.name, value], noAddress);
  }
}

async function valueFrom({ stdin, stdinIsTTY }: Io, writtenEntry: string): Promise<string> {
  const example = `version-gateway tag ${printable(writtenEntry)} < FILE`;
  // A secret typed at a prompt stays visible on the screen.
  if (!stdin || stdinIsTTY)
    throw new UsageError(`The value is read from standard input, which must not be a terminal.  Run ${example}`);
  const text = (await stdin()).replace(/\r?\n$/, '').trim();
  if (text === '') throw new UsageError(`Standard input is empty.  Run ${example}`);
  if (/[\r\n]/.test(text)) throw new UsageError('Standard input has several lines.  Give one value.');
  if (text.length > maxValueCharacters)
    throw new UsageError(`Standard input is longer than ${maxValueCharacters} characters.  Give one value.`);
  // Node decodes field values as Latin-1, one character per byte.
  return Buffer.from(text, 'utf8').toString('latin1');
}

function saltOf(file: string, cwd: string): string {
  try {
    return readSalt(resolve(cwd, file));
  } catch (error) {
    const reason = messageOf(error);
    throw new UsageError(
      `${printable(`${file} cannot be read as a usage ledger: ${reason.replace(/\.$/, '')}.`)}  The gateway creates it when it first starts; use --store for another file.`,
    );
  }
}

/** @throws InvalidArgumentError */
function identifierArgument(text: string): Identifier {
  for (const spelling of [text, `header:${text}`]) {
    const { success, data } = identifier.safeParse(spelling);
    if (success) return data;
  }
  throw new InvalidArgumentError('Write header:NAME, jwt:CLAIM, user-agent or address.');
}

function nameOf(entry: Identifier): string {
  if (entry.by === 'header') return `header:${entry.name}`;
  return entry.by === 'jwt' ? `jwt:${entry.claim}` : entry.by;
}
