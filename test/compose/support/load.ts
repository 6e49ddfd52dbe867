import { setTimeout as sleep } from 'node:timers/promises';

export interface LoadResponse {
  /** The start of the request, epoch ms. */
  readonly at: number;
  readonly ms: number;
  /** 0 if there was no response; `type` is then the error code. */
  readonly status: number;
  readonly type: string;
}

export interface Load {
  readonly responses: readonly LoadResponse[];
  /** Stops sending and waits for the last responses. */
  stop(): Promise<readonly LoadResponse[]>;
}

/** Requests `url` repeatedly, `concurrency` at a time, until it is stopped. `headers`: more fields of each request. */
export function startLoad(url: string, client: string, concurrency = 3, headers: Record<string, string> = {}): Load {
  const responses: LoadResponse[] = [];
  let isOver = false;
  const sendRequests = async (): Promise<void> => {
    while (!isOver) {
      const at = Date.now();
      const { status, type } = await fetch(url, { headers: { 'x-client-id': client, ...headers } }).then(
        async (response) => {
          await response.arrayBuffer();
          return { status: response.status, type: response.headers.get('content-type') ?? '' };
        },
        (error: unknown) => ({ status: 0, type: errorCodeOf(error) }),
      );
      responses.push({ at, ms: Date.now() - at, status, type });
      await sleep(10);
    }
  };
  const senders = Array.from({ length: concurrency }, sendRequests);
  return {
    responses,
    stop: async () => {
      isOver = true;
      await Promise.all(senders);
      return responses;
    },
  };
}

/** The number of responses by status. Requests without a response are counted by error code. */
export function countByStatus(responses: readonly LoadResponse[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, type } of responses) {
    const key = status === 0 ? type : String(status);
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

function errorCodeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause ? String(cause.code) : String(error);
}
