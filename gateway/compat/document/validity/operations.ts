import type { Documents } from '../documents.ts';
import { below, entriesOf, isMap, itemsOf, type Located } from '../located.ts';
import { resolved } from './parts.ts';

/** One that a contract describes, with the parameters of its path item. */
export interface Operation {
  readonly located: Located;
  /** As it is written; the name of a webhook. */
  readonly path: string;
  readonly isWebhook: boolean;
  /** `$ref`s followed; those of the operation first. */
  readonly parameters: readonly Located[];
}

const methods = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query']);

export function operationsOf(documents: Documents): Operation[] {
  return ['paths', 'webhooks'].flatMap((section) =>
    entriesOf(below(documents.root, section))
      .filter(([path]) => section === 'webhooks' || path.startsWith('/'))
      .flatMap(([path, written]) => {
        const item = resolved(written, documents);
        if (!item) return [];
        const own = entriesOf(item).filter(([method]) => methods.has(method));
        return [...own, ...entriesOf(below(item, 'additionalOperations'))]
          .filter(([, located]) => isMap(located.value))
          .map(([, located]) => ({
            located,
            path,
            isWebhook: section === 'webhooks',
            parameters: [located, item].flatMap((owner) => parametersOf(owner, documents)),
          }));
      }),
  );
}

function parametersOf(owner: Located, documents: Documents): Located[] {
  return itemsOf(below(owner, 'parameters')).flatMap((written) => resolved(written, documents) ?? []);
}
