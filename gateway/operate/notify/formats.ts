import { type Document, headingOf, type Section } from '../../shared/document.ts';
import { isoTextOrNull } from '../../shared/instant.ts';
import { type Html, html, sentenceAsHtml } from '../../shared/markup.ts';
import { shortened } from '../../shared/text.ts';
import type { NotifyEvent } from './events.ts';

// The document of an event in the formats of receivers. Each format escapes it.

// Mail programs ignore style sheets in the head, so each element has its own style.
const styles = {
  body: 'margin:0 auto;max-width:44em;padding:1.5em;font:15px/1.5 system-ui,sans-serif;color:#1f2328;background:#fff',
  h1: 'font-size:1.35em;margin:0 0 1em',
  h2: 'font-size:1.1em;margin:1.6em 0 .4em;padding-bottom:.2em;border-bottom:1px solid #d1d9e0',
  ul: 'margin:.4em 0;padding-left:1.3em',
  table: 'border-collapse:collapse;margin:.8em 0',
  th: 'text-align:left;padding:.25em 1em .25em 0;border-bottom:1px solid #d1d9e0;font-weight:600',
  td: 'padding:.25em 1em .25em 0;border-bottom:1px solid #eaeef2;overflow-wrap:anywhere',
} as const;

/** A page for an e-mail. */
export function asHtml(document: Document): string {
  const { lead, sections } = document;
  const title = headingOf(document);
  return html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title></head>
<body style="${styles.body}">
${[element('h1', title), ...paragraphs([lead]), ...sections.flatMap(htmlParts)].map((part) => html`${part}\n`)}</body>
</html>
`.toString();
}

function htmlParts({ heading, detail, text, lines = [], table, more = [] }: Section): Html[] {
  const items = lines.map((line) => html`<li>${sentenceAsHtml(line)}</li>\n`);
  const row = (tag: 'th' | 'td', cells: readonly string[]): Html =>
    html`<tr>${cells.map((cell) => element(tag, cell))}</tr>\n`;
  const rows = table?.rows.map((cells) => row('td', cells)) ?? [];
  return [
    ...(heading === undefined ? [] : [element('h2', heading)]),
    ...paragraphs([detail, text]),
    ...(items.length > 0 ? [html`<ul style="${styles.ul}">\n${items}</ul>`] : []),
    ...(rows.length > 0 ? [html`<table style="${styles.table}">\n${row('th', table?.head ?? [])}${rows}</table>`] : []),
    ...paragraphs(more),
  ];
}

function paragraphs(texts: readonly (string | undefined)[]): Html[] {
  return texts.flatMap((one) => (one === undefined ? [] : [html`<p>${sentenceAsHtml(one)}</p>`]));
}

function element(tag: 'h1' | 'h2' | 'th' | 'td', text: string): Html {
  return html`<${tag} style="${styles[tag]}">${text}</${tag}>`;
}

/** The body of the JSON format: the payload that Standard Webhooks recommends. */
export function eventAsJson({ type, at, title, sections, data }: NotifyEvent): string {
  const lines = sections.flatMap(({ heading = '', ...section }) => [heading, ...entriesOf(section)]);
  const text = lines.filter((line) => line !== '').join('\n');
  return JSON.stringify({ type, timestamp: isoTextOrNull(at), data: { title, text, ...data } });
}

// Limits of Slack: 50 blocks, 150 characters in a header, 3,000 in a section. Slack counts the escaped text, and also refuses
// messages of more than about 13,000 characters in all.
const maxBlocks = 50;
const maxHeaderLength = 150;
const maxSectionLength = 3_000;
const maxMessageLength = 12_000;
const tooLongNote = '… The message is too long. `version-gateway digest` prints all of it.';

/** The body for an incoming webhook of Slack. */
export function asSlack(document: Document): string {
  const { lead, sections } = document;
  const title = headingOf(document);
  const blocks: object[] = [
    { type: 'header', text: { type: 'plain_text', text: shortened(title, maxHeaderLength), emoji: false } },
  ];
  let length = 0;
  /** Adds the text, or the note that the message is too long. @returns whether the text fits */
  const addText = (text: string): boolean => {
    length += text.length;
    const fits = length <= maxMessageLength && blocks.length < maxBlocks - 1;
    blocks.push(slackSection(fits ? text : tooLongNote));
    return fits;
  };
  // `every` stops at the first text that does not fit.
  [...(lead === undefined ? [] : [{ text: lead }]), ...sections].flatMap(slackTexts).every(addText);
  return JSON.stringify({ text: slackText(shortened(title, maxSectionLength / 5)), blocks });
}

// `verbatim`: Slack does not turn names and addresses in the text into links.
function slackSection(text: string): object {
  return { type: 'section', text: { type: 'mrkdwn', text, verbatim: true } };
}

/** The lines of a section, joined to texts of at most 3,000 characters. */
function slackTexts(section: Section): string[] {
  const { heading } = section;
  const headingLines = heading === undefined ? [] : [`*${slackText(heading)}*`];
  // A line is cut to a sixth of the limit, because escaping makes it up to five times as long.
  const entries = entriesOf(section).map((line) => `• ${slackText(shortened(line, maxSectionLength / 6))}`);
  const texts: string[] = [];
  for (const line of [...headingLines, ...entries]) {
    const last = texts.at(-1);
    if (last !== undefined && last.length + line.length < maxSectionLength)
      texts[texts.length - 1] = `${last}\n${line}`;
    else texts.push(line);
  }
  return texts;
}

/** The sentences of a section, and the rows of its table as lines. */
function entriesOf({ detail, text, lines = [], table, more = [] }: Section): string[] {
  const sentences = [detail, text, ...lines].filter((line) => line !== undefined);
  const rows = table?.rows.map((cells) => cells.filter((cell) => cell !== '').join(' · ')) ?? [];
  return [...sentences, ...rows, ...more];
}

/** An escaped character becomes up to five characters. Without `<`, a client's name cannot mention a channel or be a link. */
function slackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
