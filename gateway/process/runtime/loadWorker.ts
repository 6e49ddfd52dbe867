import { parentPort, workerData } from 'node:worker_threads';
import { ParsedContracts } from '../../config/contracts.ts';
import { UnreadableFileError } from '../../config/fault.ts';
import { parseConfig } from '../../config/load.ts';
import { readRoutes } from '../../config/location.ts';
import { digestOf, digestOfFailure } from '../../config/referencedFiles.ts';
import { fromPlain, toPlain } from '../../config/transfer.ts';
import { prepareAdaptersAndGrease } from './adapterCheck.ts';
import type { LoadReply, LoadRequest, LoadStart } from './loadThread.ts';

// The entry point of the thread that loads a routes.yaml. It keeps the contracts that it has parsed.

const parsedContracts = new ParsedContracts((file) => send({ kind: 'parsing', file }));
parsedContracts.add(fromPlain((workerData as LoadStart).before));

parentPort?.on('message', (request: LoadRequest) => void load(request));

async function load({ number, options, text }: LoadRequest): Promise<void> {
  const { file, path, ignoresAdapters, ...parseOptions } = options;
  let bytes: string | Uint8Array;
  try {
    bytes = text ?? readRoutes(path);
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    const digest = digestOfFailure(error.cause);
    const unreadable = `${new UnreadableFileError(file, error.cause).message}.`;
    return send({ kind: 'done', number, digest, snapshot: undefined, faults: [], unreadable });
  }
  const result = parseConfig(bytes, file, { ...parseOptions, parsed: parsedContracts });
  const { snapshot, faults } = ignoresAdapters ? result : await prepareAdaptersAndGrease(result);
  const plainSnapshot = snapshot && toPlain(snapshot);
  send({ kind: 'done', number, digest: digestOf(bytes), snapshot: plainSnapshot, faults, unreadable: undefined });
}

function send(message: LoadReply): void {
  parentPort?.postMessage(message);
}
