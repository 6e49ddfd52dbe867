import { dirname, relative, resolve } from 'node:path';
import { type Held, holdAgainst } from '../compat/holdAgainst.ts';
import type { Comparing } from '../compat/report/report.ts';
import { workingTreeOf } from '../compat/source/git.ts';
import { realPathOf } from '../config/location.ts';
import type { Version } from '../config/snapshot.ts';
import type { Compared, CompatOptions } from './compat.ts';
import { callsIn } from './compatCalls.ts';
import { judgementFrom, offIn } from './compatNamed.ts';
import { openForCompat } from './compatOpen.ts';
import { Past } from './compatPast.ts';
import type { Progress } from './compatProgress.ts';
import { snapshotForCompat } from './compatSettings.ts';
import type { Io } from './io.ts';
import { UsageError } from './usageError.ts';

/**
 * Every contract of a routes.yaml against its own past, and each major against the one before it.
 * @throws CompareError, UsageError, UnreadableFileError
 */
export async function compareRoutes(
  file: string,
  options: CompatOptions,
  io: Io,
  progress: Progress,
): Promise<Compared> {
  const snapshot = snapshotForCompat(file, io);
  const settings = options.config === undefined ? snapshot : snapshotForCompat(options.config, io);
  const judgement = { ...judgementFrom(settings, options), callsOf: callsIn(snapshot) };
  const versions = [...snapshot.byMajor].sort((a, b) => a.major - b.major);
  if (versions.every(({ contract }) => contract === undefined)) {
    throw new UsageError(`No version in ${file} has a contract.  Name one: contract: openapi.yaml.`);
  }
  const path = realPathOf(resolve(io.cwd, file));
  const base = baseOf(dirname(path), io.cwd);
  const ref = options.against ?? 'HEAD';
  const past = new Past(ref, path, base, io.env);
  const notes = notesOn(versions, past, file, ref);
  const comparings: Comparing[] = [];
  const hold = (held: Held): void => {
    progress.tell(`comparing ${held.title}`);
    comparings.push(holdAgainst(held, judgement));
  };
  let before: { readonly name: string; readonly contract: Held['new'] | undefined } | undefined;
  for (const { name, contract: at } of versions) {
    const now = at && (await openForCompat(named(at.file, base), options, io, progress, base));
    const was = at && past.contractOf(name, at.file);
    if (now && was) {
      const old = await openForCompat(was, options, io, progress, base);
      hold({ title: `/${name}`, between: 'past', old, new: now, versions: { old: name, new: name } });
    }
    if (now && before?.contract) {
      const title = `/${before.name} → /${name}`;
      hold({ title, between: 'majors', old: before.contract, new: now, versions: { old: before.name, new: name } });
    }
    before = { name, contract: now };
  }
  comparings.sort((a, b) => Number(a.between === 'majors') - Number(b.between === 'majors'));
  const { exemptions, levels } = judgement;
  return { report: { comparings, stale: exemptions.stale, off: offIn(levels), notes }, folder: base };
}

/** A file of another working tree is asked for where it is. */
function baseOf(folder: string, cwd: string): string {
  return folder === cwd || workingTreeOf(folder) === workingTreeOf(cwd) ? cwd : folder;
}

/** A file that is called `-` is not standard input. */
function named(file: string, base: string): string {
  const path = relative(base, file);
  return path === '-' ? './-' : path;
}

/** What cannot be compared, so that nobody takes it for unchanged. */
function notesOn(versions: readonly Version[], past: Past, file: string, ref: string): string[] {
  const gone = past.versions.filter((name) => !versions.some((version) => version.name === name));
  return [
    ...versions.flatMap(({ name, contract }, index) => {
      if (contract) {
        const isNew = past.contractOf(name, contract.file) === undefined;
        return isNew ? [`the contract of /${name} is not in ${ref}: there is nothing to hold it against`] : [];
      }
      const had = past.versions.includes(name) ? `, but had one in ${ref}` : '';
      const next = versions[index + 1];
      const also = next ? `, nor can /${next.name} be held against it` : '';
      return [`/${name} has no contract in ${file}${had}: it is not compared${also}`];
    }),
    ...gone.map((name) => `/${name} is not in ${file} any more, and had a contract in ${ref}`),
  ];
}
