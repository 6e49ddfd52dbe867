import { parentPort } from 'node:worker_threads';
import { ParsedContracts } from '../config/contracts.ts';
import { UnreadableFileError } from '../config/fault.ts';
import { parseConfig } from '../config/load.ts';
import { readRoutes } from '../config/location.ts';
import { digestOf, digestOfFailure } from '../config/referencedFiles.ts';
import { fromPlain, toPlain } from '../config/transfer.ts';
import { prepareAdaptersAndGrease } from './adapterCheck.ts';
import type { LoadReply, LoadRequest } from './loadThread.ts';

// The entry point of the thread that loads a routes.yaml. It keeps the contracts that it has parsed.

const parsedContracts = new ParsedContracts((file) => send({ kind: 'parsing', file }));

parentPort?.on('message', (request: LoadRequest) => void load(request));

async function load({ options, text, before }: LoadRequest): Promise<void> {
  const { file, path, ignoresAdapters, ...parseOptions } = options;
  // A new thread gets the snapshot that was loaded last, so that it does not parse unchanged contracts again.
  if (before) parsedContracts.add(fromPlain(before));
  let bytes: string | Uint8Array;
  try {
    bytes = text ?? readRoutes(path);
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    const digest = digestOfFailure(error.cause);
    const unreadable = `${new UnreadableFileError(file, error.cause).message}.`;
    return send({ kind: 'done', digest, snapshot: undefined, faults: [], unreadable });
  }
  const result = parseConfig(bytes, file, { ...parseOptions, parsed: parsedContracts });
  const { snapshot, faults } = ignoresAdapters ? result : await prepareAdaptersAndGrease(result);
  const plainSnapshot = snapshot && toPlain(snapshot);
  send({ kind: 'done', digest: digestOf(bytes), snapshot: plainSnapshot, faults, unreadable: undefined });
}

function send(message: LoadReply): void {
  parentPort?.postMessage(message);
}
