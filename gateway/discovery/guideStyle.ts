import { policyFor, style } from './style.ts';

/** What guides need beyond the sheet of the index. */
export const guideStyle = `${style}
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

export const guidePolicy = policyFor(guideStyle);
