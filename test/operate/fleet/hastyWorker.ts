// Replaces the fleet's thread in a test. The thread maintains the store several times a second. The original thread does so after a
// minute and then every hour.
const { setTimeout, setInterval } = globalThis;
const shortened = (ms = 0): number => (ms === 60_000 || ms === 3_600_000 ? 200 : ms);
Object.assign(globalThis, {
  setTimeout: (run: () => void, ms?: number) => setTimeout(run, shortened(ms)),
  setInterval: (run: () => void, ms?: number) => setInterval(run, shortened(ms)),
});
await import('../../../gateway/operate/fleet/worker.ts');
