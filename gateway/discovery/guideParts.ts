import type { Excerpt, Sample, Topic } from '../compat/guide/guide.ts';
import { partsOf } from '../compat/guide/words.ts';
import { printable } from '../shared/text.ts';
import { type Html, html } from './html.ts';

/** A text of a guide, with its names as code. */
export function said(text: string): readonly Html[] {
  return partsOf(text).map((part) => (part.isCode ? html`<code>${part.text}</code>` : html`${part.text}`));
}

export function toldIn({ changes, sample }: Topic): Html {
  const items = changes.map(
    ({ level, text }) =>
      html`<li>${level === 'error' ? html`<strong>Breaking:</strong> ` : undefined}${said(text)}</li>`,
  );
  return html`<ul class="changes">${items}</ul>${sample && samples(sample)}`;
}

/** Before and after, side by side where there is room. */
export function samples({ language, before, after }: Sample): Html {
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
