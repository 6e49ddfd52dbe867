import { type GuideRoute, nameOf, type Topic } from '../compat/guide/guide.ts';
import { hasTasks, sameName } from '../compat/guide/markdown.ts';
import { firstOf } from '../compat/guide/words.ts';
import { routeInWords } from '../compat/walk/routes.ts';
import { plural, printable } from '../shared/text.ts';
import { said, samples, toldIn } from './guideParts.ts';
import { type Html, html } from './html.ts';

/** What became of one route. */
export function routeSection({ anchor, old, now, summary, note, call, topics, shared }: GuideRoute): Html {
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
export function sharedSection(topic: Topic, routes: readonly GuideRoute[]): Html {
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
