import { faultAt, has } from '../source.ts';
import type { Rule } from './rule.ts';

/** The request target is a part of the head. */
export const urlFitsHead: Rule = ({ source, draft }) => {
  const { head, url } = draft.gateway.limits;
  if (url <= head) return [];
  const key = has(source, ['gateway', 'limits', 'url']) ? 'url' : 'head';
  const message = `A URL of ${url} bytes does not fit a head of ${head} bytes.`;
  return [
    faultAt(source, ['gateway', 'limits', key], message, `Set head to ${url} or more, or url to ${head} or less.`),
  ];
};
