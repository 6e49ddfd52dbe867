import {
  additionsIn,
  type BeforeAfter,
  changeCount,
  type Excerpt,
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
  type SharedTopic,
  type Topic,
} from '../../contracts/compat/guide/guide.ts';
import { type Html, html, sentenceAsHtml } from '../../shared/markup.ts';
import { plural, printable } from '../../shared/text.ts';
import type { GuideLinks } from './guideRequest.ts';
import { discoveryPage, guideStyle } from './html.ts';

/** The guide as a page for browsers, without scripts. */
export function guidePage(guide: Guide, links?: GuideLinks): string {
  const { from, to, title, routes } = guide;
  const shared = guide.shared.filter(hasChanges);
  const routesOfTopic = routesByTopic(guide);
  const content = html`<header>
${title ? html`<p class="host">${printable(title)}</p>` : undefined}
<h1>Moving from ${from} to ${to}</h1>
</header>
<main>
<section aria-labelledby="todo"><h2 id="todo">What to do</h2>
<ol class="steps">${instructionsOf(guide).map((line) => html`<li>${sentenceAsHtml(line)}</li>`)}</ol></section>
<section aria-labelledby="routes"><h2 id="routes">Routes</h2>${routeTable(guide)}</section>
${section(
  'shared',
  'Changes shared by several routes',
  shared.map((topic) => sharedArticle(topic, routesOfTopic.get(topic) ?? [])),
)}
${section('changes', 'Changes by route', routes.filter(hasSection).map(routeArticle))}
${additionsSection(guide)}
</main>
${footer(guide, links)}`;
  return discoveryPage(`From ${from} to ${to}${title && ` · ${printable(title)}`}`, guideStyle, content);
}

function section(id: string, title: string, articles: readonly Html[]): Html | undefined {
  if (articles.length === 0) return undefined;
  return html`<section aria-labelledby="part-${id}"><h2 id="part-${id}">${title}</h2><div class="list">${articles}</div></section>`;
}

function routeTable({ from, to, routes }: Guide): Html {
  return html`<table><thead><tr><th scope="col">Route of ${from}</th><th scope="col">In ${to}</th></tr></thead>
<tbody>${routes.map(routeRow)}</tbody></table>`;
}

function routeRow(route: GuideRoute): Html {
  const name = html`<code>${printable(nameOf(route))}</code>`;
  const linked = hasSection(route) ? html`<a href="#${route.anchor}">${name}</a>` : name;
  const newName = newNameOf(route);
  const newNameNote = newName === undefined ? undefined : html`<small>now <code>${printable(newName)}</code></small>`;
  const count = changeCount(route);
  const changes = count === 0 ? undefined : html`<span class="tasks">${plural(count, 'change')}</span>`;
  return html`<tr><td>${linked}${newNameNote}</td><td>${badge(route)}${changes}</td></tr>`;
}

function badge(route: GuideRoute): Html {
  const [style, label] = badgeOf(route);
  return html`<span class="badge ${style}">${label}</span>`;
}

/** The styles are named after the stages of a version, and give the badge the colour of the stage. */
function badgeOf(route: GuideRoute): [style: string, label: string] {
  const { state } = route;
  if (state === 'removed') return ['sunset', 'Removed'];
  if (state === 'moved') return [isBreakingRoute(route) ? 'deprecated' : 'announced', 'Moved'];
  if (state === 'new') return ['active', 'New'];
  if (state === 'unchanged') return ['retired', 'Unchanged'];
  if (changeCount(route) === 0) return ['active', 'Extended'];
  return [isBreakingRoute(route) ? 'deprecated' : 'announced', 'Changed'];
}

function routeArticle(route: GuideRoute): Html {
  const { anchor, old, new: newOperation, summary, requestLine, topics, shared } = route;
  const newName = newNameOf(route);
  const newNameNote = newName === undefined ? undefined : html` is now <code>${printable(newName)}</code>`;
  const heading = html`<code>${old ? printable(nameOf(route)) : ''}</code>${newNameNote}`;
  const { shown, andMore } = firstItems(shared.filter(({ topic }) => hasChanges(topic)));
  return article(anchor, heading, [
    summary ? html`<p class="purpose">${printable(summary)}</p>` : undefined,
    newOperation === undefined ? html`<p>${sentenceAsHtml(removalInWords(route))}</p>` : undefined,
    requestLine && samples(requestLine),
    shown.length > 0 ? html`<p>Changes shared with other routes: ${shown.map(sharedLink)}${andMore}.</p>` : undefined,
    ...topics.filter(hasChanges).map((topic) => html`<h4>${sentenceAsHtml(topic.subject)}</h4>${topicBody(topic)}`),
  ]);
}

function sharedLink({ topic, where }: SharedTopic, index: number): Html {
  const separator = index === 0 ? '' : ', ';
  const place = where === '' ? undefined : html` in ${sentenceAsHtml(where)}`;
  return html`${separator}<a href="#${topic.anchor}">${sentenceAsHtml(topic.subject)}</a>${place}`;
}

function sharedArticle(topic: Topic, routes: readonly GuideRoute[]): Html {
  const { shown, andMore } = firstItems(routes);
  const listed = shown.map((route, index) => {
    const { where = '' } = route.shared.find((one) => one.topic === topic) ?? {};
    const name = html`<a href="#${route.anchor}"><code>${printable(nameOf(route))}</code></a>`;
    const place = where === '' ? undefined : html` (${sentenceAsHtml(where)})`;
    return html`${index === 0 ? '' : ', '}${name}${place}`;
  });
  return article(topic.anchor, sentenceAsHtml(topic.subject), [
    html`<p class="purpose">In ${plural(routes.length, 'route')}: ${listed}${andMore}.</p>`,
    topicBody(topic),
  ]);
}

function article(anchor: string, heading: Html, parts: readonly (Html | undefined)[]): Html {
  return html`
<article class="version" id="${anchor}" aria-labelledby="of-${anchor}">
<div class="head"><h3 id="of-${anchor}">${heading}</h3><a class="self" href="#${anchor}" aria-label="Link to this part">#</a></div>
${parts}
</article>`;
}

function topicBody({ changes, sample }: Topic): Html {
  const items = changes.map(({ level, text }) => {
    const mark = level === 'error' ? html`<strong>Breaking:</strong> ` : undefined;
    return html`<li>${mark}${sentenceAsHtml(text)}</li>`;
  });
  return html`<ul class="changes">${items}</ul>${sample && samples(sample)}`;
}

/** Before and after, side by side on a wide screen. */
function samples({ language, before, after }: BeforeAfter): Html {
  const figures = [figure('Before', 'out', before, after), figure('After', 'in', after, before)];
  return html`<div class="samples${language === 'http' ? ' calls' : ''}">${figures}</div>`;
}

/** `mark`: the class of the lines that the other excerpt does not have. */
function figure(
  title: string,
  mark: string,
  excerpt: Excerpt | undefined,
  other: Excerpt | undefined,
): Html | undefined {
  if (excerpt === undefined) return undefined;
  const otherLines = new Set(other?.text.split('\n').map(withoutComma));
  const lines = excerpt.text.split('\n').map((line) => {
    const style = other === undefined || otherLines.has(withoutComma(line)) ? 'line' : `line ${mark}`;
    return html`<span class="${style}">${printable(line)}</span>`;
  });
  const origin = excerpt.isGenerated ? ', generated from the schema' : '';
  return html`<figure><figcaption>${title}${origin}</figcaption><pre><code>${lines}</code></pre></figure>`;
}

/** The comma at the end of a line only shows that another line follows. */
function withoutComma(line: string): string {
  return line.replace(/,$/, '');
}

function additionsSection(guide: Guide): Html | undefined {
  const items = additionsIn(guide).flatMap(({ subject, texts }) =>
    texts.map((text) => html`<li>${sentenceAsHtml(subject)}: ${sentenceAsHtml(text)}</li>`),
  );
  if (items.length === 0) return undefined;
  return html`<section aria-labelledby="additions"><h2 id="additions">Additions</h2>
<details><summary>${plural(items.length, 'addition')}</summary>
<p>No action is needed for these.</p><ul class="changes">${items}</ul></details></section>`;
}

function footer({ from, to }: Guide, links: GuideLinks | undefined): Html {
  const origin = `Generated from the OpenAPI contracts of ${from} and ${to}.`;
  if (links === undefined) return html`<footer><p>${origin}</p></footer>`;
  const contracts = links.contracts.map(({ version, href }) => html` · <a href="${href}">Contract of ${version}</a>`);
  return html`<footer><p>${origin} All times are UTC.</p>
<p><a href="${links.index}">All versions</a>${contracts} · <a href="${links.markdown}">This guide as Markdown</a></p></footer>`;
}
