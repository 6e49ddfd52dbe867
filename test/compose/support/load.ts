import { setTimeout as sleep } from 'node:timers/promises';

export interface Answer {
  /** Epoch ms at which it was asked, and how long it took. */
  readonly at: number;
  readonly ms: number;
  /** 0 where no answer came; then `type` says why. */
  readonly status: number;
  readonly type: string;
}

export interface Load {
  readonly answers: readonly Answer[];
  /** Asks no more, and waits for the last answers. */
  stop(): Promise<readonly Answer[]>;
}

/** Goes on asking for `url`, several at a time, until it is stopped. */
export function keepAsking(url: string, client: string, atOnce = 3): Load {
  const answers: Answer[] = [];
  let isOver = false;
  const ask = async (): Promise<void> => {
    while (!isOver) {
      const at = Date.now();
      const { status, type } = await fetch(url, { headers: { 'x-client-id': client } }).then(
        async (response) => {
          await response.arrayBuffer();
          return { status: response.status, type: response.headers.get('content-type') ?? '' };
        },
        (error: unknown) => ({ status: 0, type: reasonOf(error) }),
      );
      answers.push({ at, ms: Date.now() - at, status, type });
      await sleep(10);
    }
  };
  const askers = Array.from({ length: atOnce }, ask);
  return {
    answers,
    stop: async () => {
      isOver = true;
      await Promise.all(askers);
      return answers;
    },
  };
}

/** How often each status came; a failure counts by its reason. */
export function stats(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, type } of answers) {
    const key = status === 0 ? type : String(status);
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause ? String(cause.code) : String(error);
}
