import { parentPort } from 'node:worker_threads';
import { bufferOf, isBody } from './adaptedBody.ts';
import { BodyAdapter, type BodyReply, type BodyRequest, dropOldestAdapter } from './bodyThread.ts';
import { CompiledAdapter } from './compiledAdapter.ts';

/** Key: the hash of an adapter. */
const adapters = new Map<string, BodyAdapter>();

parentPort?.on('message', answer);

function answer(request: BodyRequest): void {
  const reply = replyTo(request);
  parentPort?.postMessage(reply, 'bytes' in reply ? [reply.bytes.buffer as ArrayBuffer] : []);
}

function replyTo({ number, hash, settings, job }: BodyRequest): BodyReply {
  if (settings) {
    // Without templates: the thread adapts bodies only, and no paths.
    adapters.set(hash, new BodyAdapter(new CompiledAdapter({ settings, hash, templates: [] })));
    dropOldestAdapter(adapters);
  }
  const adapter = adapters.get(hash);
  if (!adapter) return { number, fault: { pointer: '', cause: 'the thread no longer has the adapter' } };
  try {
    const result = adapter.adapt({ ...job, bytes: Buffer.from(job.bytes.buffer, 0, job.bytes.length) });
    // A copy, because a buffer of Node's pool cannot be transferred.
    return isBody(result) ? { number, bytes: new Uint8Array(bufferOf(result)) } : { number, fault: result };
  } catch (error) {
    return { number, fault: { pointer: '', cause: error instanceof Error ? error.name : 'the thread failed' } };
  }
}
