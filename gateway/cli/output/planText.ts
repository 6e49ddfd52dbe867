import { hasLoss, type Plan, type PlannedClient, plannedAnswerNames, plannedAnswers } from '../../plan/plan.ts';
import { routesInWords, secondOf } from '../../retirement/words.ts';
import { ago, grouped, plural, printable, printableExcerpt } from '../../shared/text.ts';
import { isSingleClient } from '../../usage/usageRow.ts';
import { type Paint, table } from './terminal.ts';
import { escaped, markdownTable } from './verdictText.ts';

/** The clients with the largest losses are shown; the JSON format lists more. */
const clientsShown = 20;

export function planAsText(plan: Plan, paint: Paint, width = Number.POSITIVE_INFINITY): string {
  const lines = [headingOf(plan), '', ...planLines(plan, paint), '', ...table(versionRows(plan))];
  const { headings, cells, more } = clientTable(plan);
  if (cells.length > 0) lines.push('', ...table([headings, ...cells], width));
  if (more !== undefined) lines.push(`  ${more}`);
  return `${lines.join('\n')}\n`;
}

/** For a ticket or a pull request. */
export function planAsMarkdown(plan: Plan): string {
  const lines = [`# ${escaped(headingOf(plan))}`, '', escaped(plan.summary)];
  if (plan.notes.length > 0) lines.push('', ...plan.notes.map(({ text }) => `- ${escaped(text)}`));
  const [headings = [], ...rows] = versionRows(plan);
  lines.push('', ...markdownTable(headings, rows));
  const clients = clientTable(plan);
  if (clients.cells.length > 0) lines.push('', ...markdownTable(clients.headings, clients.cells));
  if (clients.more !== undefined) lines.push('', escaped(clients.more));
  return `${lines.join('\n')}\n`;
}

/** The result and the notes. */
function planLines(plan: Plan, paint: Paint): string[] {
  const style = hasLoss(plan) ? 'red' : plan.covered_since === null ? 'yellow' : 'green';
  return [paint(style, `  ${printable(plan.summary)}`), ...plan.notes.map(({ text }) => `  ${printable(text)}`)];
}

function headingOf({ at, since, until }: Plan): string {
  const instant = at === until ? '' : ` as of ${secondOf(Date.parse(at))}`;
  return printable(`Plan${instant} for the requests since ${secondOf(Date.parse(since))}`);
}

function versionRows({ versions }: Plan): string[][] {
  // A scanner may have tried hundreds of versions that never existed.
  const shown = versions.filter(({ stage, lost }) => stage !== 'removed' || lost > 0);
  const rows = shown.map(({ version, stage, answer, clients, requests, lost }) => [
    printable(`/${version}`),
    printable(stage),
    plannedAnswers[answer]?.words ?? printable(answer),
    grouped(clients),
    grouped(requests),
    grouped(lost),
  ]);
  return [['version', 'stage', 'answer', 'clients', 'requests', 'lost'], ...rows];
}

/** The clients that lose something. */
function clientTable({ clients, client_count: count, losing_count: losing, until }: Plan) {
  const shown = clients.filter(({ lost }) => lost > 0).slice(0, clientsShown);
  const answers = plannedAnswerNames.filter((name) => name === 'served' || shown.some((one) => one.answers[name] > 0));
  const cells = shown.map((one) => [
    printableExcerpt(one.name ?? one.client),
    grouped(one.lost),
    ...answers.map((name) => grouped(one.answers[name])),
    routesOf(one),
    ago(Date.parse(one.last), Date.parse(until)),
  ]);
  const headings = ['client', 'loses', ...answers.map((name) => plannedAnswers[name].heading), 'routes', 'last call'];
  const single = shown.filter(isSingleClient).length;
  const hidden = losing > single ? `and ${grouped(losing - single)} more` : undefined;
  const rest = count > losing ? `${plural(count - losing, 'client')} would lose nothing.` : undefined;
  const more = [hidden, rest].filter((one) => one !== undefined).join('; ');
  return { headings, cells, more: more === '' ? undefined : more };
}

/** The most used routes of the versions that the client loses. */
function routesOf({ loses, top_routes: top }: PlannedClient): string {
  const [first, ...others] = loses;
  if (top.length === 0) return loses.map((version) => printable(`/${version}`)).join(', ');
  const routes = top.map(({ version, route, requests }) => {
    return { route: others.length > 0 ? `${route} of /${version}` : route, requests };
  });
  const words = routesInWords(routes.length, routes).replace(/^\d+: /, '');
  return others.length > 0 ? words : `${printable(`/${first}`)}: ${words}`;
}
