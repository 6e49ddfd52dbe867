import { faultAt, valueAt } from '../source.ts';
import type { Rule } from './rule.ts';

/** A gateway without a version has nothing to do. */
export const needsRoute: Rule = ({ source }) => {
  const routes = valueAt(source.tree, ['routes']);
  const empty =
    routes === undefined || routes === null || (typeof routes === 'object' && Object.keys(routes).length === 0);
  if (!empty) return [];
  return [faultAt(source, ['routes'], 'There is no route.', 'Write at least one, such as /v1: http://127.0.0.1:3001.')];
};
