import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { messageOf } from './text.ts';

/**
 * A listener that is loaded by its first request, so that the start of the gateway does not load its modules. If it cannot be
 * loaded, for example because the package was removed from the disk, the connection is closed and the next request tries again.
 * `notice` gets the reason of the first failure.
 */
export function loadedOnDemand(load: () => Promise<RequestListener>, notice: (line: string) => void): RequestListener {
  let listener: RequestListener | undefined;
  let loading: Promise<RequestListener> | undefined;
  let hasFailed = false;
  const loadAndRun = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    loading ??= load();
    try {
      listener = await loading;
    } catch (error) {
      loading = undefined;
      const reason = messageOf(error);
      if (!hasFailed) notice(`A request cannot be answered, because its modules cannot be loaded: ${reason}`);
      hasFailed = true;
      res.destroy();
      return;
    }
    listener(req, res);
  };
  return (req, res) => {
    if (listener) listener(req, res);
    else void loadAndRun(req, res);
  };
}
