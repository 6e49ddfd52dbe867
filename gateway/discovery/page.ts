import type { Snapshot } from '../config/snapshot.ts';
import type { Stage } from '../lifecycle/stage.ts';
import { when } from './dates.ts';
import { Html, html } from './html.ts';
import type { Entry, Overview } from './overview.ts';
import { catalogPath, indexPath } from './paths.ts';
import { style } from './style.ts';
import { type Axis, axisOf, timeline, timelineKey } from './timeline.ts';

export const icon = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M2 4h12M2 8h8M2 12h4" stroke="#2a5aa8" stroke-width="2.4"/></svg>',
)}`;

/** The overview for people: one document without a script, whose style sheet the policy names by its hash. */
export function page(overview: Overview, snapshot: Snapshot): string {
  const host = overview.origin.replace(/^https?:\/\//, '');
  const axis = axisOf(overview);
  const index = overview.origin + indexPath(snapshot);
  const asJson = overview.origin === '' ? html`<code>GET ${index}</code>` : html`<code>curl ${index}</code>`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API versions${host && ` · ${host}`}</title>
<link rel="icon" href="${icon}">
<link rel="api-catalog" href="${catalogPath}">
<style>${new Html(style)}</style>
</head>
<body>
<div class="wrap">
<header>
${host ? html`<p class="host">${host}</p>` : undefined}
<h1>API versions</h1>
<p class="lead">${lead(overview)}</p>
</header>
<main>
<ol class="versions" reversed>${overview.entries.toReversed().map((entry) => section(entry, overview, axis))}</ol>
${axis && timelineKey()}
</main>
<footer>
<p>Responses of a version that is going away carry <code>Deprecation</code>, <code>Sunset</code> and <code>Link</code> headers. All times are UTC.</p>
<p>For programs: ${asJson} gives this page as JSON, and the <a href="${catalogPath}">API catalog</a> lists the contracts.</p>
</footer>
</div>
</body>
</html>
`.toString();
}

function lead({ entries, latest }: Overview): Html {
  const served = entries.filter(({ stage }) => stage !== 'retired').length;
  const versions = `${served} ${served === 1 ? 'version' : 'versions'}`;
  if (latest === undefined) return html`No version is served at present.`;
  return html`${versions} served. The newest is <strong>${latest.name}</strong>.`;
}

function section(entry: Entry, { now, latest }: Overview, axis: Axis | undefined): Html {
  const { version, stage, url } = entry;
  const heading = `about-${version.name}`;
  const newest = version === latest ? html`<span class="badge newest">Newest</span>` : undefined;
  return html`
<li><article class="version" aria-labelledby="${heading}">
<div class="head">
<h2 id="${heading}">${version.name}</h2>
<span class="badge ${stage}">${labels[stage]}</span>
${newest}
<code class="url">${url}</code>
</div>
<p class="summary">${summaries[stage](entry)}</p>
${axis && timeline(entry, axis, now)}
${facts(entry, now)}
${links(entry)}
</article></li>`;
}

const labels: Readonly<Record<Stage, string>> = {
  active: 'Active',
  announced: 'Deprecation announced',
  deprecated: 'Deprecated',
  sunset: 'Past its sunset',
  retired: 'Retired',
};

const summaries: Readonly<Record<Stage, (entry: Entry) => string>> = {
  active: () => 'In service. Nothing is planned to end it.',
  announced: (entry) => `In service. Its deprecation is announced${move(entry, '; plan the move to')}.`,
  deprecated: (entry) => `In service, but no longer recommended${move(entry, '. Move to')}.`,
  sunset: (entry) => `Its end has passed, and it may stop at any time${move(entry, '. Move now to')}.`,
  retired: (entry) => `No longer served: every request is answered with 410 Gone${move(entry, '. Use')}.`,
};

function move({ successor }: Entry, words: string): string {
  return successor ? `${words} ${successor.name}` : '';
}

function facts({ version, stage, successor }: Entry, now: number): Html | undefined {
  const next = stage === 'active' ? undefined : successor;
  const rows = [
    version.deprecation !== undefined && fact('Deprecation', when(version.deprecation, now)),
    version.sunset !== undefined && fact('Sunset', when(version.sunset, now)),
    next && fact('Successor', html`<a href="#about-${next.name}">${next.name}</a>`),
  ].filter((row) => row instanceof Html);
  return rows.length > 0 ? html`<dl class="facts">${rows}</dl>` : undefined;
}

function fact(name: string, value: Html): Html {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}

function links({ version, contract, guide, successor }: Entry): Html | undefined {
  const rows = [
    contract && html`<li><a href="${contract}">OpenAPI contract<span class="quiet"> of ${version.name}</span></a></li>`,
    guide && html`<li><a href="${guide}">Guide from ${version.name} to ${successor?.name}</a></li>`,
    version.info && html`<li><a href="${version.info}">About the end of ${version.name}</a></li>`,
  ].filter((row) => row instanceof Html);
  return rows.length > 0 ? html`<ul class="more">${rows}</ul>` : undefined;
}
