import { reasonOf } from '../../config/fault.ts';
import { nameLine } from '../../config/names.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { stageOf } from '../../lifecycle/stage.ts';
import { clientsUsing, gatherFacts, ignoredBy } from '../../retirement/facts.ts';
import { judge } from '../../retirement/verdict.ts';
import { verdictJson } from '../../retirement/verdictJson.ts';
import { clientsInWords } from '../../retirement/words.ts';
import { nameClient } from '../../usage/clientNames.ts';
import { usageCsv } from '../../usage/report/usageCsv.ts';
import { usageReport } from '../../usage/report/usageReport.ts';
import type { UsageQueries } from '../../usage/usageQueries.ts';
import { BadParameter } from '../badParameter.ts';
import { durationIn, expectOnly, nobodyKnows, questionIn, removedIn } from '../question.ts';
import type { Answers, ClientNaming, Kind, LastUseFacts, Objection, Page, Questions } from './questions.ts';

type Answer<Asked extends Kind> = (
  queries: UsageQueries,
  snapshot: Snapshot,
  question: Questions[Asked],
) => Answers[Asked];

const answers: { readonly [Asked in Kind]: Answer<Asked> } = {
  usage: (queries, snapshot, { query, format, now }) =>
    orObjection(() => {
      const report = usageReport(queries, questionIn(query, snapshot, queries, now));
      if (format === 'json') return page(JSON.stringify(report));
      return { ...page(usageCsv(report)), csv: `usage-by-${report.by}.csv` };
    }),

  retirement: (queries, snapshot, { name, query, report, now }) =>
    orObjection(() => {
      if (!snapshot.versions.has(name) && !removedIn(queries, snapshot).includes(name)) {
        return { problem: 'UNKNOWN_VERSION', detail: `No such version: ${nobodyKnows(queries, snapshot)}` };
      }
      expectOnly(query, ['quiet']);
      const quiet = durationIn(query, 'quiet') ?? snapshot.retire.quiet;
      return page(JSON.stringify(verdictJson(judge(gatherFacts({ name }, { snapshot, queries, report }, quiet, now)))));
    }),

  use: (queries, snapshot, { since, now }) =>
    queries.totals(since).map(({ version: name }) => {
      const version = snapshot.versions.get(name);
      const isRetired = version !== undefined && stageOf(version, now) === 'retired';
      const ignored = snapshot.retire.ignoreClients;
      const callers = clientsUsing(name, queries, since, { ignored, isRetired });
      const last = callers.reduce<number | undefined>((latest, one) => Math.max(latest ?? 0, one.last), undefined);
      return { version: name, last, clients: clientsInWords(callers, now) };
    }),

  // Here and not where clients are served: to read and write a large file takes a while.
  name: (_queries, { usage: { names } }, naming) => (names === undefined ? unnamed(naming) : nameIn(names, naming)),

  lastUse: (queries, snapshot) => {
    const used = queries.lastUsed(ignoredBy(snapshot.retire.ignoreClients));
    const versions = queries.totals(0).map(({ version, served, last }): [string, LastUseFacts] => {
      return [version, { served: served > 0 ? last : undefined, used: used.get(version) }];
    });
    return queries.problem === undefined ? new Map(versions) : undefined;
  },
};

/** Pure, but for what it asks: the same wherever it is worked out. */
export function answerTo<Asked extends Kind>(
  kind: Asked,
  queries: UsageQueries,
  snapshot: Snapshot,
  question: Questions[Asked],
): Answers[Asked] {
  return answers[kind](queries, snapshot, question);
}

/** A parameter that is wrong is objected to, by its name. */
function orObjection(answer: () => Page | Objection): Page | Objection {
  try {
    return answer();
  } catch (error) {
    if (!(error instanceof BadParameter)) throw error;
    return { problem: 'BAD_REQUEST', detail: error.message };
  }
}

function unnamed({ client, name }: ClientNaming): Objection {
  const detail =
    'routes.yaml names no file for the names of clients. Create one with this line, and name it: usage: { names: names.yaml }.';
  return { problem: 'NAME_NOT_SAVED', detail, members: { line: nameLine(client, name) } };
}

function nameIn(file: string, { client, name, was }: ClientNaming): Page | Objection {
  const notSaved = (reason: string): Objection => {
    const remedy = name === '' ? 'Remove the line of the client by hand.' : 'Add the line by hand.';
    const members = name === '' ? {} : { line: nameLine(client, name) };
    return { problem: 'NAME_NOT_SAVED', detail: `${file} cannot be edited: ${reason}. ${remedy}`, members };
  };
  try {
    const naming = nameClient(file, client, name, was);
    if (naming.kind === 'refused') return notSaved(naming.reason);
    if (naming.kind === 'saved') return page(JSON.stringify({ client, name: name === '' ? null : name }));
    const now = naming.name === '' ? 'has no name any more' : `is called ${JSON.stringify(naming.name)} now`;
    const detail = `Somebody else has changed the name: ${client} ${now}. Look at it, and try again.`;
    return { problem: 'NAME_CHANGED', detail, members: { name: naming.name === '' ? null : naming.name } };
  } catch (error) {
    return notSaved(reasonOf(error));
  }
}

// Memory of its own, so that a thread can hand it over as it is.
function page(text: string): Page {
  return { body: new TextEncoder().encode(text) };
}
