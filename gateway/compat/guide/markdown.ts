import { plural } from '../../shared/text.ts';
import { type RouteName, routeInWords } from '../diff/routes.ts';
import { additionsIn } from './additions.ts';
import { type Guide, type GuideRoute, isBreaking, nameOf, type Sample, sharers, type Topic } from './guide.ts';
import { codeInMarkdown, escaped, fenced, inMarkdown } from './markdownText.ts';
import { openingOf, stateInWords } from './opening.ts';
import { firstOf } from './words.ts';

/** The guide for a repository, a wiki or a terminal. */
export function guideAsMarkdown(guide: Guide): string {
  const { from, to, title, routes, shared } = guide;
  const changed = routes.filter(hasSection);
  const places = sharers(guide);
  const blocks = [
    `# ${title === '' ? 'Moving' : `${escaped(title)}: moving`} from ${from} to ${to}`,
    '## What to do',
    openingOf(guide)
      .map((line, index) => `${index + 1}. ${inMarkdown(line)}`)
      .join('\n'),
    '## Routes',
    table(guide),
    ...(shared.some(hasTasks) ? ['## What several routes share'] : []),
    ...shared.filter(hasTasks).flatMap((topic) => sharedSection(topic, places.get(topic) ?? [])),
    ...(changed.length > 0 ? ['## Route by route'] : []),
    ...changed.flatMap((route) => section(route)),
    ...additions(guide),
  ];
  return `${blocks.join('\n\n')}\n`;
}

/** Whether there is more to say of a route than its row does. */
export function hasSection({ state, topics, shared }: GuideRoute): boolean {
  return state === 'gone' || state === 'moved' || topics.some(hasTasks) || shared.some(({ topic }) => hasTasks(topic));
}

export function hasTasks({ changes }: Topic): boolean {
  return changes.length > 0;
}

function table({ from, to, routes }: Guide): string {
  const rows = routes.map((route) => {
    const { old, now, anchor } = route;
    const name = cell(old ?? now);
    const first = old === undefined ? '–' : hasSection(route) ? `[${name}](#${anchor})` : name;
    const second = now === undefined ? '–' : old && sameName(old, now) ? 'the same' : cell(now);
    return `| ${first} | ${second} | ${stateInWords(route)} |`;
  });
  return [`| in ${from} | in ${to} | |`, '|---|---|---|', ...rows].join('\n');
}

function cell(name: RouteName | undefined): string {
  // In a table a bar ends the cell even within code (GFM §4.10).
  return name ? codeInMarkdown(routeInWords(name)).replaceAll('|', '\\|') : '';
}

export function sameName(a: RouteName, b: RouteName): boolean {
  return routeInWords(a) === routeInWords(b);
}

function sharedSection(topic: Topic, routes: readonly GuideRoute[]): string[] {
  const { shown, more } = firstOf(routes);
  const places = shown.map((route) => {
    const { where = '' } = route.shared.find((one) => one.topic === topic) ?? {};
    return `${codeInMarkdown(nameOf(route))} (${inMarkdown(where)})`;
  });
  const heading = `<a id="${topic.anchor}"></a>\n### ${inMarkdown(topic.subject)}`;
  return [heading, `In ${plural(routes.length, 'route')}: ${places.join(', ')}${more}.`, ...told(topic)];
}

function section(route: GuideRoute): string[] {
  const { anchor, old, now, note, call, topics, shared, summary } = route;
  const arrow = old && now && !sameName(old, now) ? ` is now ${codeInMarkdown(routeInWords(now))}` : '';
  const name = codeInMarkdown(nameOf(route));
  const mark = isBreaking(route) ? '' : ' (nothing breaks)';
  const blocks = [`<a id="${anchor}"></a>\n### ${name}${arrow}${mark}`];
  if (summary !== '') blocks.push(`*${escaped(summary)}*`);
  if (now === undefined)
    blocks.push(`It is gone, and nothing takes its place${note === '' ? '' : `; it ${inMarkdown(note)}`}.`);
  if (call) blocks.push(sample(call));
  const links = shared.filter(({ topic }) => hasTasks(topic));
  if (links.length > 0) {
    const { shown, more } = firstOf(links);
    const items = shown.map(
      ({ topic, where }) => `[${inMarkdown(topic.subject)}](#${topic.anchor}) in ${inMarkdown(where)}`,
    );
    blocks.push(`What it shares with other routes: ${items.join(', ')}${more}.`);
  }
  for (const topic of topics.filter(hasTasks)) blocks.push(`**${inMarkdown(topic.subject)}**`, ...told(topic));
  return blocks;
}

function told({ changes, sample: shown }: Topic): string[] {
  const items = changes.map(({ level, text }) => `- ${level === 'error' ? '**Breaking:** ' : ''}${inMarkdown(text)}`);
  return [items.join('\n'), ...(shown ? [sample(shown)] : [])];
}

function sample({ language, before, after }: Sample): string {
  const blocks = [
    ['Before', before],
    ['After', after],
  ] as const;
  return blocks
    .flatMap(([title, excerpt]) => {
      if (excerpt === undefined) return [];
      return [`${title}${excerpt.isMadeUp ? ' (made up from the types)' : ''}:`, fenced(excerpt.text, language)];
    })
    .join('\n\n');
}

function additions(guide: Guide): string[] {
  const groups = additionsIn(guide);
  if (groups.length === 0) return [];
  const items = groups.flatMap(({ subject, texts }) =>
    texts.map((text) => `- ${inMarkdown(subject)}: ${inMarkdown(text)}`),
  );
  return ['## Additions', 'Nothing to do: these may be used, and need not be.', items.join('\n')];
}
