import { pageProblems } from './pageProblems.ts';
import { requestProblems } from './requestProblems.ts';
import { upstreamProblems } from './upstreamProblems.ts';

/** Every answer that the gateway makes itself, by its stable code. */
export const catalogue = { ...requestProblems, ...upstreamProblems, ...pageProblems };

export type ProblemCode = keyof typeof catalogue;
