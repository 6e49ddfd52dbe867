import { readdirSync, readFileSync } from 'node:fs';

/** The unit of /proc/PID/stat: USER_HZ, which is 100 on every Linux that Node supports. */
const ticksPerSecond = 100;

/** The process and all its living descendants: nginx does its work in a child. */
export function processTree(pid: number): number[] {
  const childrenByParent = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const child = Number(name);
    const parent = Number.isInteger(child) ? Number(stat(child)?.[1]) : Number.NaN;
    if (!Number.isNaN(parent)) childrenByParent.set(parent, [...(childrenByParent.get(parent) ?? []), child]);
  }
  const tree = [pid];
  for (const member of tree) tree.push(...(childrenByParent.get(member) ?? []));
  return tree;
}

/** User and system time of the whole tree since its start. */
export function cpuSeconds(pid: number): number {
  const ticks = processTree(pid).map((member) => {
    const fields = stat(member);
    return Number(fields?.[11] ?? 0) + Number(fields?.[12] ?? 0);
  });
  return sum(ticks) / ticksPerSecond;
}

/** `cpuSeconds`, and that of the children of the process that have ended. */
export function cpuSecondsWithEnded(pid: number): number {
  const fields = stat(pid);
  return cpuSeconds(pid) + (Number(fields?.[13] ?? 0) + Number(fields?.[14] ?? 0)) / ticksPerSecond;
}

/** CPU time of the main thread of a process since its start, with nanosecond resolution. In the gateway, this thread serves requests. */
export function mainThreadSeconds(pid: number): number {
  return Number(read(`/proc/${pid}/task/${pid}/schedstat`)?.split(' ')[0] ?? 0) / 1e9;
}

/** Resident memory of the whole tree. */
export function rssBytes(pid: number): number {
  const kilobytes = processTree(pid).map((member) => {
    const status = read(`/proc/${member}/status`) ?? '';
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0);
  });
  return sum(kilobytes) * 1024;
}

export function openFiles(pid: number): number {
  return sum(processTree(pid).map((member) => readdirSync(`/proc/${member}/fd`).length));
}

/** The fields after the name, which may contain spaces and parentheses: state, parent, … */
function stat(pid: number): string[] | undefined {
  const text = read(`/proc/${pid}/stat`);
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** Undefined: the process has ended in the meantime. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
