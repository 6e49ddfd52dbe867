import { type RouteName, routeInWords } from '../compat/diff/routes.ts';
import { additionsIn } from '../compat/guide/additions.ts';
import {
  type Excerpt,
  type Guide,
  type GuideRoute,
  isBreaking,
  nameOf,
  type Sample,
  sharers,
  type Topic,
  tasksOf,
} from '../compat/guide/guide.ts';
import { hasSection, hasTasks, sameName } from '../compat/guide/markdown.ts';
import { openingOf } from '../compat/guide/opening.ts';
import { firstOf, partsOf } from '../compat/guide/words.ts';

import { plural, printable } from '../shared/text.ts';
import { Html, html } from './html.ts';
import { guideStyle, icon } from './style.ts';

/** Where else to read; none in a file that is not served. */
export interface GuideLinks {
  readonly index: string;
  readonly markdown: string;
  readonly contracts: readonly { readonly version: string; readonly href: string }[];
}

/** A guide for people: one document without a script, as the index is. */
export function guidePage(guide: Guide, links?: GuideLinks): string {
  const { from, to, title, routes, shared } = guide;
  const changed = routes.filter(hasSection);
  const places = sharers(guide);
  const common = shared.filter(hasTasks);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>From ${from} to ${to}${title && ` · ${printable(title)}`}</title>
<link rel="icon" href="${icon}">
<style>${new Html(guideStyle)}</style>
</head>
<body>
<div class="wrap">
<header>
${title ? html`<p class="host">${printable(title)}</p>` : undefined}
<h1>Moving from ${from} to ${to}</h1>
</header>
<main>
<section aria-labelledby="todo"><h2 id="todo">What to do</h2>
<ol class="steps">${openingOf(guide).map((line) => html`<li>${said(line)}</li>`)}</ol></section>
<section aria-labelledby="routes"><h2 id="routes">Routes</h2>${table(guide)}</section>
${group(
  'shared',
  'What several routes share',
  common.map((topic) => sharedSection(topic, places.get(topic) ?? [])),
)}
${group('changes', 'Route by route', changed.map(routeSection))}
${additions(guide)}
</main>
${footer(guide, links)}
</div>
</body>
</html>
`.toString();
}

function group(id: string, title: string, articles: readonly Html[]): Html | undefined {
  if (articles.length === 0) return undefined;
  return html`<section aria-labelledby="part-${id}"><h2 id="part-${id}">${title}</h2><div class="list">${articles}</div></section>`;
}

function table({ from, to, routes }: Guide): Html {
  return html`<table><thead><tr><th scope="col">Route of ${from}</th><th scope="col">In ${to}</th></tr></thead>
<tbody>${routes.map(row)}</tbody></table>`;
}

function row(route: GuideRoute): Html {
  const { old, now, anchor } = route;
  const name = html`<code>${spelled(old ?? now)}</code>`;
  const linked = hasSection(route) ? html`<a href="#${anchor}">${name}</a>` : name;
  const arrow = old && now && !sameName(old, now) ? html`<small>now <code>${spelled(now)}</code></small>` : undefined;
  return html`<tr><td>${linked}${arrow}</td><td>${badge(route)}${tasks(route)}</td></tr>`;
}

function spelled(name: RouteName | undefined): string {
  return name ? printable(routeInWords(name)) : '';
}

function badge(route: GuideRoute): Html {
  const [kind, words] = badgeOf(route);
  return html`<span class="badge ${kind}">${words}</span>`;
}

function badgeOf(route: GuideRoute): [kind: string, words: string] {
  const { state } = route;
  if (state === 'gone') return ['sunset', 'Gone'];
  if (state === 'moved') return [isBreaking(route) ? 'deprecated' : 'announced', 'Moved'];
  if (state === 'new') return ['active', 'New'];
  if (state === 'unchanged') return ['retired', 'Unchanged'];
  if (tasksOf(route) === 0) return ['active', 'Extended'];
  return [isBreaking(route) ? 'deprecated' : 'announced', 'Changed'];
}

function tasks(route: GuideRoute): Html | undefined {
  const count = tasksOf(route);
  return count === 0 ? undefined : html`<span class="tasks">${plural(count, 'change')}</span>`;
}

/** What became of one route. */
function routeSection({ anchor, old, now, summary, note, call, topics, shared }: GuideRoute): Html {
  const nowWords =
    now && old && !sameName(old, now) ? html` is now <code>${printable(routeInWords(now))}</code>` : undefined;
  const name = html`<code>${old ? printable(routeInWords(old)) : ''}</code>${nowWords}`;
  const { shown, more } = firstOf(shared.filter(({ topic }) => hasTasks(topic)));
  return article(anchor, name, [
    summary ? html`<p class="purpose">${printable(summary)}</p>` : undefined,
    now === undefined
      ? html`<p>It is gone, and nothing takes its place${note && '; it '}${said(note)}.</p>`
      : undefined,
    call && samples(call),
    shown.length > 0 ? html`<p>What it shares with other routes: ${shown.map(link)}${more}.</p>` : undefined,
    ...topics.filter(hasTasks).map((topic) => html`<h4>${said(topic.subject)}</h4>${toldIn(topic)}`),
  ]);
}

function link({ topic, where }: GuideRoute['shared'][number], index: number): Html {
  return html`${index === 0 ? '' : ', '}<a href="#${topic.anchor}">${said(topic.subject)}</a> in ${said(where)}`;
}

/** What is the same for several routes. */
function sharedSection(topic: Topic, routes: readonly GuideRoute[]): Html {
  const { shown, more } = firstOf(routes);
  const listed = shown.map((route, index) => {
    const { where = '' } = route.shared.find((one) => one.topic === topic) ?? {};
    const name = html`<a href="#${route.anchor}"><code>${printable(nameOf(route))}</code></a>`;
    return html`${index === 0 ? '' : ', '}${name} (${said(where)})`;
  });
  return article(topic.anchor, html`${said(topic.subject)}`, [
    html`<p class="purpose">In ${plural(routes.length, 'route')}: ${listed}${more}.</p>`,
    toldIn(topic),
  ]);
}

function article(anchor: string, name: Html, parts: readonly (Html | undefined)[]): Html {
  return html`
<article class="version" id="${anchor}" aria-labelledby="of-${anchor}">
<div class="head"><h3 id="of-${anchor}">${name}</h3><a class="self" href="#${anchor}" aria-label="Link to this part">#</a></div>
${parts}
</article>`;
}

/** A text of a guide, with its names as code. */
function said(text: string): readonly Html[] {
  return partsOf(text).map((part) => (part.isCode ? html`<code>${part.text}</code>` : html`${part.text}`));
}

function toldIn({ changes, sample }: Topic): Html {
  const items = changes.map(
    ({ level, text }) =>
      html`<li>${level === 'error' ? html`<strong>Breaking:</strong> ` : undefined}${said(text)}</li>`,
  );
  return html`<ul class="changes">${items}</ul>${sample && samples(sample)}`;
}

/** Before and after, side by side where there is room. */
function samples({ language, before, after }: Sample): Html {
  const figures = [figure('Before', 'out', before, after), figure('After', 'in', after, before)];
  return html`<div class="samples${language === 'http' ? ' calls' : ''}">${figures}</div>`;
}

function figure(
  title: string,
  mark: string,
  excerpt: Excerpt | undefined,
  other: Excerpt | undefined,
): Html | undefined {
  if (excerpt === undefined) return undefined;
  const others = new Set(other?.text.split('\n').map(bare));
  const lines = excerpt.text.split('\n').map((line) => {
    const kind = other === undefined || others.has(bare(line)) ? 'line' : `line ${mark}`;
    return html`<span class="${kind}">${printable(line)}</span>`;
  });
  const origin = excerpt.isMadeUp ? ', made up from the types' : '';
  return html`<figure><figcaption>${title}${origin}</figcaption><pre><code>${lines}</code></pre></figure>`;
}

/** A comma comes and goes with what follows. */
function bare(line: string): string {
  return line.replace(/,$/, '');
}

function additions(guide: Guide): Html | undefined {
  const groups = additionsIn(guide);
  if (groups.length === 0) return undefined;
  const items = groups.flatMap(({ subject, texts }) =>
    texts.map((text) => html`<li>${said(subject)}: ${said(text)}</li>`),
  );
  return html`<section aria-labelledby="additions"><h2 id="additions">Additions</h2>
<details><summary>${plural(items.length, 'addition')}, nothing to do</summary>
<p>These may be used, and need not be.</p><ul class="changes">${items}</ul></details></section>`;
}

function footer({ from, to }: Guide, links: GuideLinks | undefined): Html {
  const made = `Made from the OpenAPI contracts of ${from} and ${to}.`;
  if (links === undefined) return html`<footer><p>${made}</p></footer>`;
  const contracts = links.contracts.map(({ version, href }) => html` · <a href="${href}">Contract of ${version}</a>`);
  return html`<footer><p>${made} All times are UTC.</p>
<p><a href="${links.index}">All versions</a>${contracts} · <a href="${links.markdown}">This guide as Markdown</a></p></footer>`;
}
