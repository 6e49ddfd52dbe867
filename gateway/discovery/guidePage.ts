import type { RouteName } from '../compat/finding.ts';
import { additionsIn } from '../compat/guide/additions.ts';
import { type Guide, type GuideRoute, isBreaking, sharers, tasksOf } from '../compat/guide/guide.ts';
import { hasSection, hasTasks, sameName } from '../compat/guide/markdown.ts';
import { openingOf } from '../compat/guide/opening.ts';
import { routeInWords } from '../compat/walk/routes.ts';
import { plural, printable } from '../shared/text.ts';
import { said } from './guideParts.ts';
import { routeSection, sharedSection } from './guideSections.ts';
import { guideStyle } from './guideStyle.ts';
import { Html, html } from './html.ts';
import { icon } from './page.ts';

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
