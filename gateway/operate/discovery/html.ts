import { createHash } from 'node:crypto';
import { Html, html } from '../../shared/markup.ts';

/** A page without scripts. `head`: further elements of its head. */
export function discoveryPage(title: string, sheet: string, content: Html, head?: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${icon}">
${head}<style>${new Html(sheet)}</style>
</head>
<body>
<div class="wrap">
${content}
</div>
</body>
</html>
`.toString();
}

/** The icon of all pages. */
const icon = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M2 4h12M2 8h8M2 12h4" stroke="#2a5aa8" stroke-width="2.4"/></svg>',
)}`;

/** The style sheet of the index. It is inline, so that the page loads nothing else. */
export const indexStyle = `
:root {
  color-scheme: light dark;
  --page: #fbfbfa; --card: #fff; --line: #e2e2de; --ink: #1c1d1f; --soft: #5c5f66; --link: #0b57b7;
  --green: #17693a; --amber: #855300; --red: #b3261e; --grey: #5c5f66; --blue: #2a5aa8;
  --green-bg: #e7f4ec; --amber-bg: #fdf1dc; --red-bg: #fcebe9; --grey-bg: #efefec; --blue-bg: #e9f0fb;
  --in-service: #4b9870; --leaving: #c2872c; --overdue: #c4564d;
  --mono: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #141517; --card: #1b1d20; --line: #303338; --ink: #e9e9e6; --soft: #a4a8b0; --link: #8cb8ff;
    --green: #7fd6a0; --amber: #f0bd66; --red: #ff9d94; --grey: #b3b6bd; --blue: #9cc0ff;
    --green-bg: #17301f; --amber-bg: #35280f; --red-bg: #3d1b19; --grey-bg: #2a2c30; --blue-bg: #1b2a44;
    --in-service: #5fae85; --leaving: #cf9a45; --overdue: #dd7b72;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Open Sans", sans-serif; overflow-wrap: anywhere; }
.wrap { max-width: 58rem; margin: 0 auto; padding: 3.5rem 1.5rem 3rem; }
h1, h2, p, dl, dd, ol, ul { margin: 0; padding: 0; }
h1 { font-size: 1.75rem; line-height: 1.2; letter-spacing: -.015em; }
.host { margin-bottom: .35rem; font: .9375rem/1.4 var(--mono); color: var(--soft); }
.lead { margin-top: .5rem; color: var(--soft); }
a { color: var(--link); text-underline-offset: .18em; text-decoration-thickness: 1px; }
a:hover { text-decoration-thickness: 2px; }
a:focus-visible { outline: 2px solid var(--link); outline-offset: 3px; border-radius: 2px; }
code { font-family: var(--mono); font-size: .9375em; }
.versions { list-style: none; margin-top: 2rem; display: grid; gap: 1rem; }
.version { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.25rem 1.5rem 1.375rem; }
.head { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem .75rem; }
h2 { font: 600 1.375rem/1.2 var(--mono); }
.url { margin-left: auto; color: var(--soft); }
.badge { display: inline-flex; align-items: center; gap: .45em; padding: .16em .7em; border-radius: 99px; font-size: .8125rem; font-weight: 600; line-height: 1.5; }
.badge::before { content: ""; width: .55em; height: .55em; border-radius: 50%; background: currentColor; }
.newest { border: 1px solid var(--line); color: var(--soft); font-weight: 500; }
.newest::before { display: none; }
.active { color: var(--green); background: var(--green-bg); }
.announced { color: var(--blue); background: var(--blue-bg); }
.deprecated { color: var(--amber); background: var(--amber-bg); }
.sunset { color: var(--red); background: var(--red-bg); }
.retired { color: var(--grey); background: var(--grey-bg); }
.announced::before { background: linear-gradient(90deg, currentColor 50%, transparent 50%); box-shadow: inset 0 0 0 1.5px currentColor; }
.deprecated::before { border-radius: 1px; rotate: 45deg; scale: .9; }
.sunset::before { border-radius: 1px; }
.retired::before { background: none; box-shadow: inset 0 0 0 1.5px currentColor; }
.summary { margin-top: .625rem; color: var(--soft); }
.life { display: block; width: 100%; height: 20px; margin-top: 1rem; }
.in-service { fill: var(--in-service); }
.leaving { fill: var(--leaving); }
.overdue { fill: var(--overdue); }
.track { fill: var(--line); }
.today { stroke: var(--ink); stroke-width: 2; }
.facts { display: grid; grid-template-columns: repeat(3, 1fr); gap: .875rem 1.5rem; margin-top: .75rem; }
dt { font-size: .8125rem; color: var(--soft); }
dd { font-variant-numeric: tabular-nums; }
dd small { display: block;  font-size: .875rem; color: var(--soft); }
dd span { white-space: nowrap; }
.more { list-style: none; display: flex; flex-wrap: wrap; gap: .375rem 1.5rem; margin-top: 1rem; }
.extra { margin-top: 1rem; }
.gone { list-style: none; display: grid; gap: .375rem; margin-top: .375rem; }
.gone small { margin-left: .75rem; font-size: .875rem; color: var(--soft); }
.key { display: flex; flex-wrap: wrap; gap: .375rem 1.25rem; margin-top: 1.25rem; font-size: .8125rem; color: var(--soft); }
.key svg { width: 22px; height: 20px; margin-right: .5em; vertical-align: -5px; }
footer { margin-top: 2.25rem; padding-top: 1.25rem; border-top: 1px solid var(--line); font-size: .875rem; color: var(--soft); display: grid; gap: .5rem; }
.visually-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (max-width: 40rem) {
  .wrap { padding: 2rem 1rem; }
  .version { padding: 1.125rem 1.125rem 1.25rem; }
  .url { margin-left: 0; width: 100%; }
  .facts { grid-template-columns: repeat(2, 1fr); }
}
@media (forced-colors: active) { .badge { border: 1px solid; } }
`;

/** The style sheet of the guides, which extends that of the index. */
export const guideStyle = `${indexStyle}
html { scroll-padding-top: 1rem; }
section { margin-top: 2.75rem; }
h2 { font: 600 1.25rem/1.3 system-ui, -apple-system, "Segoe UI", Roboto, "Open Sans", sans-serif; }
h3 { margin: 0; font: 600 1.0625rem/1.4 var(--mono); }
h4 { margin: 1.125rem 0 0; font-size: .9375rem; }
h2 + *, .version > p, .version > ul { margin-top: .75rem; }
.steps { padding-left: 1.5rem; display: grid; gap: .375rem; }
.steps li::marker { color: var(--soft); }
table { width: 100%; border-collapse: collapse; background: var(--card); border: 1px solid var(--line); }
th, td { padding: .625rem 1rem; text-align: left; vertical-align: baseline; border-top: 1px solid var(--line); }
th { font-size: .8125rem; font-weight: 500; color: var(--soft); }
td:last-child { width: 15rem; }
td small { display: block; color: var(--soft); }
td a { text-decoration-color: color-mix(in srgb, currentColor 40%, transparent); }
.badge { white-space: nowrap; }
.tasks { white-space: nowrap; margin-left: .5rem; font-size: .875rem; color: var(--soft); }
.list { display: grid; gap: 1rem; }
.head { justify-content: space-between; align-items: baseline; flex-wrap: nowrap; }
li code, p code { padding: .08em .3em; border-radius: 4px; background: var(--grey-bg); }
p a code { padding: 0; background: none; }
.head code { font-size: 1em; }
.self { margin-left: .5rem; color: var(--soft); text-decoration: none; }
.purpose { color: var(--soft); }
.version > .purpose { margin-top: .125rem; }
.changes { padding-left: 1.25rem; display: grid; gap: .25rem; }
.version > .changes { margin-top: .375rem; }
.changes strong { color: var(--red); font-weight: 600; }
.samples { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; margin-top: .875rem; }
.samples.calls { grid-template-columns: 1fr; gap: .625rem; }
figure { margin: 0; min-width: 0; }
figcaption { font-size: .8125rem; color: var(--soft); }
pre { margin: .25rem 0 0; padding: .625rem .75rem; background: var(--page); border: 1px solid var(--line); border-radius: 6px; font: .875rem/1.55 var(--mono); white-space: pre-wrap; }
.line { display: block; padding-left: 1.25em; text-indent: -1.25em; }
.line::before { display: inline-block; width: 1.25em; text-indent: 0; content: " "; }
.out { color: var(--red); background: var(--red-bg); }
.out::before { content: "\\2212" / ""; }
.in { color: var(--green); background: var(--green-bg); }
.in::before { content: "+" / ""; }
summary { cursor: pointer; font-weight: 600; }
summary:focus-visible { outline: 2px solid var(--link); outline-offset: 3px; border-radius: 2px; }
details > * + * { margin-top: .75rem; }
:target { border-color: var(--link); box-shadow: 0 0 0 1px var(--link); }
@media (max-width: 40rem) {
  .samples { grid-template-columns: 1fr; }
  th, td { padding: .625rem .75rem; }
  td:last-child { width: 8.5rem; }
  .tasks { display: block; margin: .25rem 0 0; }
}
@media print {
  :root { --page: #fff; --card: #fff; }
  body { font-size: 10.5pt; }
  .wrap { max-width: none; padding: 0; }
  .self { display: none; }
  pre, tr, li { break-inside: avoid; }
  h2, h3, h4, figcaption { break-after: avoid; }
  details::details-content { display: block; content-visibility: visible; height: auto; }
}
`;

export const indexPolicy = contentSecurityPolicyFor(indexStyle);
export const guidePolicy = contentSecurityPolicyFor(guideStyle);

/** Allows `sheet` by its hash, and images in data URLs; forbids scripts and everything else. */
function contentSecurityPolicyFor(sheet: string): string {
  const hash = createHash('sha256').update(sheet).digest('base64');
  return [
    "default-src 'none'",
    `style-src 'sha256-${hash}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
