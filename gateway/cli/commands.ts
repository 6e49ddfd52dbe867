import type { AddCommand } from './command.ts';

interface Loadable {
  readonly name: string;
  readonly load: () => Promise<AddCommand>;
}

/** In the order of `--help`. Each is loaded when it is asked for: to compare two files takes no gateway. */
const commands: readonly Loadable[] = [
  { name: 'start', load: async () => (await import('./start.ts')).addStart },
  { name: 'check', load: async () => (await import('./check.ts')).addCheck },
  { name: 'compat', load: async () => (await import('./compat.ts')).addCompat },
  { name: 'migrate', load: async () => (await import('./migrate.ts')).addMigrate },
  { name: 'moved', load: async () => (await import('./moved.ts')).addMoved },
  { name: 'ready', load: async () => (await import('./ready.ts')).addReady },
  { name: 'status', load: async () => (await import('./status.ts')).addStatus },
  { name: 'usage', load: async () => (await import('./usage.ts')).addUsage },
  { name: 'tag', load: async () => (await import('./tag.ts')).addTag },
  { name: 'can-retire', load: async () => (await import('./canRetire.ts')).addCanRetire },
];

/** The command that is asked for; all of them where that is none, so that the help can name them. */
export async function commandsFor(args: readonly string[]): Promise<AddCommand[]> {
  const asked = commands.filter(({ name }) => name === args[0]);
  return Promise.all((asked.length > 0 ? asked : commands).map(({ load }) => load()));
}
