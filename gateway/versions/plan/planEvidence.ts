import type { AnswerSettings } from '../../config/answerSettings.ts';
import { apiOf, withRemovedApis } from '../../config/api.ts';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import { plural } from '../../shared/text.ts';
import { evidenceOf, sizeEvidenceOf } from '../../usage/callFacts.ts';
import type { CallEvidence } from '../../usage/evidence/callEvidence.ts';
import type { Remark } from '../../usage/evidence/remark.ts';
import type { UsageQueries } from '../../usage/usageQueries.ts';
import type { PlanQuery } from './plan.ts';

/**
 * Why clients may send requests that the candidate refuses, although the ledger has none of them: the ledger does not cover
 * `guard.quiet`, counts are missing, or requests are not answered yet. Empty if it is known. `isCut`: whether the candidate may refuse
 * clients of the version that the running configuration serves. `changed`: the versions of which it may refuse some requests by a limit or an
 * adapter.
 * `recorded`: without a running configuration, the ledger tells which versions were served.
 */
export async function missingEvidence(
  queries: Pick<UsageQueries, 'coverage' | 'problem' | 'sizesSince'>,
  { candidate, running, since, now, live }: PlanQuery,
  isCut: (version: string) => boolean,
  changed: readonly string[],
  recorded: AnswerSettings | undefined,
): Promise<{ readonly missing: Remark[]; readonly pending: Remark[] }> {
  const judgedBy = (version: string) => apiOf(version, withRemovedApis(candidate, running, [version]));
  const askedOf = (version: string) => {
    const quiet = judgedBy(version).guard.quiet || now - since;
    return { version, now, quiet, since: now - quiet, retention: candidate.usage.retention };
  };
  const found: CallEvidence[] = [];
  const unanswered: Remark[] = [];
  const versions = [
    ...candidate.versions.keys(),
    ...(running?.versions.keys() ?? []),
    ...(live?.keys() ?? []),
    ...Object.keys(recorded?.bodies ?? {}),
  ];
  for (const version of new Set(versions)) {
    if (!isCut(version) && !refusesMore(candidate.versions.get(version), running?.versions.get(version), running))
      continue;
    const facts = live?.get(version);
    found.push(await evidenceOf(queries, askedOf(version), facts));
    const open = facts ? facts.inFlight + facts.waiting : 0;
    if (open === 0) continue;
    const text = `/${version} has ${plural(open, 'open request')}: it is not known yet how they will be answered.`;
    unanswered.push({ code: 'in_flight', text });
  }
  for (const version of changed) found.push(await sizeEvidenceOf(queries, askedOf(version), live?.get(version)));
  return {
    missing: distinct([...found.flatMap(({ missing }) => missing), ...unanswered]),
    pending: distinct(found.flatMap(({ pending }) => pending)),
  };
}

function distinct(remarks: readonly Remark[]): Remark[] {
  return [...new Map(remarks.map((remark) => [remark.text, remark])).values()];
}

/** Whether the candidate may refuse some clients or routes of a version that the running configuration serves. */
function refusesMore(version: Version | undefined, now: Version | undefined, running: Snapshot | undefined): boolean {
  if (version === undefined) return false;
  const cuts = [version.adapter?.mode === 'serve' ? version.adapter : undefined, version.freeze, version.brownouts];
  if (running === undefined) return cuts.some((cut) => cut !== undefined && JSON.stringify(cut) !== '[]');
  const cutsNow = [now?.adapter?.mode === 'serve' ? now.adapter : undefined, now?.freeze, now?.brownouts];
  return now !== undefined && JSON.stringify(cuts) !== JSON.stringify(cutsNow);
}
