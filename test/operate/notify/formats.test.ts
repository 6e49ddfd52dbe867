import { expect, it } from 'vitest';
import type { NotifyEvent } from '../../../gateway/operate/notify/events.ts';
import { asHtml, asSlack, eventAsJson } from '../../../gateway/operate/notify/formats.ts';
import { documentAsMarkdown } from '../../../gateway/shared/document.ts';
import { eventOf } from './receiver.ts';

const hostile = '<!channel> <https://evil.example|click> & "quotes" `code` | cell *bold* <img src=x onerror=alert(1)>';
const event = eventOf('one', {
  title: hostile,
  sections: [{ heading: hostile, lines: [hostile], table: { head: ['client'], rows: [[hostile]] } }],
});

interface SlackMessage {
  readonly text: string;
  readonly blocks: readonly {
    readonly type: string;
    readonly text: { readonly type: string; readonly text: string; readonly verbatim?: boolean };
  }[];
}

/** Checks the documented limits of Slack. */
function slackOf(message: NotifyEvent): SlackMessage {
  const parsed = JSON.parse(asSlack(message)) as SlackMessage;
  expect(parsed.blocks.length).toBeGreaterThan(0);
  expect(parsed.blocks.length).toBeLessThanOrEqual(50);
  for (const { type, text } of parsed.blocks) {
    expect(text.text.length).toBeGreaterThan(0);
    expect(text.text.length).toBeLessThanOrEqual(type === 'header' ? 150 : 3_000);
  }
  expect(parsed.blocks.reduce((sum, { text }) => sum + text.text.length, 0)).toBeLessThan(13_000);
  return parsed;
}

it('a client cannot mention a channel or add a link in Slack', () => {
  const { text, blocks } = slackOf(event);
  for (const part of [text, ...blocks.slice(1).map((block) => block.text.text)]) expect(part).not.toMatch(/[<>]/);
  expect(blocks[0]?.text).toMatchObject({ type: 'plain_text' });
  expect(blocks.slice(1).every((block) => block.text.verbatim === true)).toBe(true);
});

it.each([
  ['one long line', [{ lines: ['&'.repeat(20_000)] }]],
  ['many lines', [{ lines: Array.from({ length: 5_000 }, (_one, index) => `line ${index}`) }]],
  ['many sections', Array.from({ length: 200 }, (_one, index) => ({ heading: `section ${index}`, lines: ['text'] }))],
])('keeps the limits of Slack with %s', (_what, sections) => {
  const { blocks } = slackOf(eventOf('one', { title: 'x'.repeat(400), sections }));
  const isCut = blocks.at(-1)?.text.text.includes('version-gateway digest') === true;
  expect(isCut).toBe(_what !== 'one long line');
});

const full = {
  title: 'Can /v1 be retired?',
  answer: { text: 'not yet', style: 'yellow' },
  lead: 'One client calls it.',
  sections: [
    { heading: '/v1: deprecated', detail: 'the detail', text: 'the text', lines: ['the line'], more: ['and more'] },
    { table: { head: ['client', 'requests'], rows: [['curl', '7']] } },
  ],
} as const;

it.each([
  ['HTML', asHtml(full)],
  ['Slack', asSlack(full)],
  ['Markdown', documentAsMarkdown(full)],
  ['JSON', eventAsJson(eventOf('one', full))],
])('has all parts of a document in %s', (format, text) => {
  const parts = ['/v1: deprecated', 'the detail', 'the text', 'the line', 'and more', 'curl', '7'];
  // An event has neither an answer nor a lead.
  const ofDocument =
    format === 'JSON' ? ['Can /v1 be retired?'] : ['Can /v1 be retired? not yet', 'One client calls it.'];
  for (const part of [...ofDocument, ...parts]) expect(text).toContain(part);
});

it('escapes everything in HTML', () => {
  const page = asHtml(event);
  const withoutTags = page.replace(
    /<\/?(?:!doctype|html|head|meta|title|body|h1|h2|ul|li|code|table|tr|th|td)(?: [^<>]*)?>/g,
    '',
  );
  expect(withoutTags).not.toMatch(/[<>]/);
  expect(page).not.toContain('onerror=alert(1)>');
  expect(page).toContain('&#60;!channel&#62;');
});

it('escapes everything in Markdown', () => {
  const text = documentAsMarkdown(event);
  expect(text).not.toMatch(/<|\*bold| \| cell/);
  expect(documentAsMarkdown(eventOf('one', { sections: [{ lines: ['Run `a|b`, <i>.'] }] }))).toContain(
    '- Run <code>a&#124;b</code>, &#60;i&#62;.\n',
  );
});

it('has type, timestamp and data in JSON', () => {
  expect(JSON.parse(eventAsJson(eventOf('one')))).toEqual({
    type: 'deprecation',
    timestamp: '2026-11-18T12:00:00.000Z',
    data: { title: 'Event one', text: 'The text of one.', version: 'v1' },
  });
});
