import { createHash } from 'node:crypto';

/** The page's only style sheet. It is inline, so that the page is one answer and asks nobody for anything. */
export const style = `
:root {
  color-scheme: light dark;
  --page: #fbfbfa; --card: #fff; --line: #e2e2de; --ink: #1c1d1f; --soft: #5c5f66; --link: #0b57b7;
  --green: #17693a; --amber: #855300; --red: #b3261e; --grey: #5c5f66; --blue: #2a5aa8;
  --green-bg: #e7f4ec; --amber-bg: #fdf1dc; --red-bg: #fcebe9; --grey-bg: #efefec; --blue-bg: #e9f0fb;
  --served: #4b9870; --leaving: #c2872c; --overdue: #c4564d;
  --mono: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #141517; --card: #1b1d20; --line: #303338; --ink: #e9e9e6; --soft: #a4a8b0; --link: #8cb8ff;
    --green: #7fd6a0; --amber: #f0bd66; --red: #ff9d94; --grey: #b3b6bd; --blue: #9cc0ff;
    --green-bg: #17301f; --amber-bg: #35280f; --red-bg: #3d1b19; --grey-bg: #2a2c30; --blue-bg: #1b2a44;
    --served: #5fae85; --leaving: #cf9a45; --overdue: #dd7b72;
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
.served { fill: var(--served); }
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
.key { display: flex; flex-wrap: wrap; gap: .375rem 1.25rem; margin-top: 1.25rem; font-size: .8125rem; color: var(--soft); }
.key svg { width: 22px; height: 20px; margin-right: .5em; vertical-align: -5px; }
footer { margin-top: 2.25rem; padding-top: 1.25rem; border-top: 1px solid var(--line); font-size: .875rem; color: var(--soft); display: grid; gap: .5rem; }
.quiet { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (max-width: 40rem) {
  .wrap { padding: 2rem 1rem; }
  .version { padding: 1.125rem 1.125rem 1.25rem; }
  .url { margin-left: 0; width: 100%; }
  .facts { grid-template-columns: repeat(2, 1fr); }
}
@media (forced-colors: active) { .badge { border: 1px solid; } }
`;

/** Nothing may be loaded or run, and this one style sheet may be applied. */
export function policyFor(sheet: string): string {
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

export const contentSecurityPolicy = policyFor(style);
