import type { Request } from 'express';
import { type Grouping, sortable, states, type UsagePage } from '../usage/report/usagePage.ts';
import { BadParameter } from './badParameter.ts';

const parameters = ['limit', 'offset', 'sort', 'filter', 'state'] as const;

/** Above that a page is none. */
const mostRows = 100_000;

/** Which rows a query string asks for; undefined: all of them. @throws BadParameter */
export function pageIn(query: Request['query'], by: Grouping): UsagePage | undefined {
  const given = parameters.filter((name) => query[name] !== undefined);
  const [first] = given;
  if (first === undefined) return undefined;
  for (const name of given)
    if (typeof query[name] !== 'string') throw new BadParameter(`\`${name}\` is given once, as text.`);
  const columns = sortable[by];
  if (!columns)
    throw new BadParameter(
      `\`${first}\` goes with ${Object.keys(sortable)
        .map((one) => `by=${one}`)
        .join(', ')}.`,
    );
  return {
    limit: wholeIn(query, 'limit', 1),
    offset: wholeIn(query, 'offset', 0),
    sort: sortIn(query, columns),
    filter: query['filter'] as string | undefined,
    state: stateIn(query, by),
  };
}

export const pageParameters: readonly string[] = parameters;

function wholeIn(query: Request['query'], name: string, least: number): number | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  const number = Number(text);
  if (/^\d{1,9}$/.test(String(text)) && number >= least && (least === 0 || number <= mostRows)) return number;
  const most = least === 0 ? '' : ` to ${mostRows}`;
  throw new BadParameter(`\`${name}\` is a whole number from ${least}${most}${most === '' ? ' on' : ''}.`);
}

/** `requests` upwards, `-requests` downwards. */
function sortIn(query: Request['query'], columns: readonly string[]): UsagePage['sort'] {
  const text = query['sort'] as string | undefined;
  if (text === undefined) return undefined;
  const column = text.replace(/^-/, '');
  if (columns.includes(column)) return { column, downwards: text.startsWith('-') };
  throw new BadParameter(`\`sort\` is one of ${columns.join(', ')}, with a \`-\` before it for the largest first.`);
}

function stateIn(query: Request['query'], by: Grouping): UsagePage['state'] {
  const text = query['state'];
  if (text === undefined) return undefined;
  if (by === 'route') throw new BadParameter('`state` goes with by=client and by=migration.');
  const state = states.find((one) => one === text);
  if (state === undefined) throw new BadParameter(`\`state\` is one of ${states.join(', ')}.`);
  return state;
}
