import type { RouteName } from '../../../contract/routes.ts';
import { codeAsMarkdown, plainAsMarkdown, sentenceAsMarkdown } from '../../../shared/markup.ts';
import { plural, printable } from '../../../shared/text.ts';
import { routeInWords } from '../rules/words.ts';
import {
  additionsIn,
  type BeforeAfter,
  changeCount,
  firstItems,
  type Guide,
  type GuideRoute,
  hasChanges,
  hasSection,
  instructionsOf,
  isBreakingRoute,
  nameOf,
  newNameOf,
  removalInWords,
  routesByTopic,
  type Topic,
} from './guide.ts';

/** The guide as Markdown, for a repository, a wiki or a terminal. */
export function guideAsMarkdown(guide: Guide): string {
  const { from, to, title, routes } = guide;
  const sections = routes.filter(hasSection);
  const shared = guide.shared.filter(hasChanges);
  const routesSharingTopic = routesByTopic(guide);
  const blocks = [
    `# ${title === '' ? 'Moving' : `${textOf(title)}: moving`} from ${from} to ${to}`,
    '## What to do',
    instructionsOf(guide)
      .map((line, index) => `${index + 1}. ${sentenceAsMarkdown(line, unlimited)}`)
      .join('\n'),
    '## Routes',
    routeTable(guide),
    ...(shared.length > 0 ? ['## Changes shared by several routes'] : []),
    ...shared.flatMap((topic) => sharedSection(topic, routesSharingTopic.get(topic) ?? [])),
    ...(sections.length > 0 ? ['## Changes by route'] : []),
    ...sections.flatMap(routeSection),
    ...additionsSection(guide),
  ];
  return `${blocks.join('\n\n')}\n`;
}

const unlimited = Number.POSITIVE_INFINITY;

function textOf(text: string): string {
  return plainAsMarkdown(text.replace(/\s+/g, ' '), unlimited);
}

function codeOf(name: RouteName): string {
  return codeAsMarkdown(routeInWords(name), unlimited);
}

function routeTable({ from, to, routes }: Guide): string {
  const rows = routes.map((route) => {
    const { old, new: newRoute, anchor } = route;
    const name = old ? codeOf(old) : '–';
    const oldCell = old && hasSection(route) ? `[${name}](#${anchor})` : name;
    const isSame = old && newRoute && newNameOf(route) === undefined;
    const newCell = isSame ? 'the same' : newRoute ? codeOf(newRoute) : '–';
    return `| ${oldCell} | ${newCell} | ${stateInWords(route)} |`;
  });
  return [`| in ${from} | in ${to} | |`, '|---|---|---|', ...rows].join('\n');
}

/** "moved, 3 changes, breaking". */
function stateInWords(route: GuideRoute): string {
  const { state } = route;
  if (state === 'removed' || state === 'new' || state === 'unchanged') return state;
  const count = changeCount(route);
  if (count === 0) return state === 'changed' ? 'additions only' : state;
  return `${state === 'moved' ? 'moved, ' : ''}${plural(count, 'change')}${isBreakingRoute(route) ? ', breaking' : ''}`;
}

function sharedSection(topic: Topic, routes: readonly GuideRoute[]): string[] {
  const { shown, andMore } = firstItems(routes);
  const places = shown.map((route) => {
    const { where = '' } = route.shared.find((one) => one.topic === topic) ?? {};
    const place = where === '' ? '' : ` (${sentenceAsMarkdown(where, unlimited)})`;
    return `${codeAsMarkdown(nameOf(route), unlimited)}${place}`;
  });
  const heading = `<a id="${topic.anchor}"></a>\n### ${sentenceAsMarkdown(topic.subject, unlimited)}`;
  return [heading, `In ${plural(routes.length, 'route')}: ${places.join(', ')}${andMore}.`, ...topicBlocks(topic)];
}

function routeSection(route: GuideRoute): string[] {
  const { anchor, new: newRoute, requestLine, topics, shared, summary } = route;
  const newName = newNameOf(route);
  const newNameClause = newName === undefined ? '' : ` is now ${codeAsMarkdown(newName, unlimited)}`;
  const compatibleNote = isBreakingRoute(route) ? '' : ' (not breaking)';
  const blocks = [
    `<a id="${anchor}"></a>\n### ${codeAsMarkdown(nameOf(route), unlimited)}${newNameClause}${compatibleNote}`,
  ];
  if (summary !== '') blocks.push(`*${textOf(summary)}*`);
  if (newRoute === undefined) blocks.push(sentenceAsMarkdown(removalInWords(route), unlimited));
  if (requestLine) blocks.push(beforeAfter(requestLine));
  const sharedWithChanges = shared.filter(({ topic }) => hasChanges(topic));
  if (sharedWithChanges.length > 0) {
    const { shown, andMore } = firstItems(sharedWithChanges);
    const links = shown.map(({ topic, where }) => {
      const place = where === '' ? '' : ` in ${sentenceAsMarkdown(where, unlimited)}`;
      return `[${sentenceAsMarkdown(topic.subject, unlimited)}](#${topic.anchor})${place}`;
    });
    blocks.push(`Changes shared with other routes: ${links.join(', ')}${andMore}.`);
  }
  for (const topic of topics.filter(hasChanges)) {
    blocks.push(`**${sentenceAsMarkdown(topic.subject, unlimited)}**`, ...topicBlocks(topic));
  }
  return blocks;
}

function topicBlocks({ changes, sample }: Topic): string[] {
  const items = changes.map(({ level, text }) => {
    return `- ${level === 'error' ? '**Breaking:** ' : ''}${sentenceAsMarkdown(text, unlimited)}`;
  });
  return [items.join('\n'), ...(sample ? [beforeAfter(sample)] : [])];
}

function beforeAfter({ language, before, after }: BeforeAfter): string {
  const excerpts = [
    ['Before', before],
    ['After', after],
  ] as const;
  return excerpts
    .flatMap(([title, excerpt]) => {
      if (excerpt === undefined) return [];
      const origin = excerpt.isGenerated ? ' (generated from the schema)' : '';
      return [`${title}${origin}:`, codeBlock(excerpt.text, language)];
    })
    .join('\n\n');
}

function additionsSection(guide: Guide): string[] {
  const items = additionsIn(guide).flatMap(({ subject, texts }) =>
    texts.map((text) => `- ${sentenceAsMarkdown(subject, unlimited)}: ${sentenceAsMarkdown(text, unlimited)}`),
  );
  return items.length === 0 ? [] : ['## Additions', 'No action is needed for these.', items.join('\n')];
}

/** A fenced block. Its fence is longer than any run of backticks in the text (CommonMark §4.5). */
export function codeBlock(text: string, language: string): string {
  const longestRun = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(Math.max(longestRun + 1, 3));
  return `${fence}${language}\n${text.split('\n').map(printable).join('\n')}\n${fence}`;
}
