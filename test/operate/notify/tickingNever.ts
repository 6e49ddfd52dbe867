// The thread that sends notifications, without its ticks: it does only what a command tells it.

const { setTimeout } = globalThis;
const isTick = (ms: number | undefined): boolean => ms !== undefined && ms >= 1_000 && ms <= 5_000;
globalThis.setTimeout = ((callback: () => void, ms?: number, ...args: []) =>
  isTick(ms) ? undefined : setTimeout(callback, ms, ...args)) as typeof setTimeout;
await import('../../../gateway/operate/notify/worker.ts');
