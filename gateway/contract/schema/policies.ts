/** How one reader of schemas treats what others treat differently. All other keywords have one meaning for every reader. */
export interface SchemaPolicy {
  /** The fields that messages never have: `readOnly` ones in requests, `writeOnly` ones in responses. They are never required. */
  readonly direction?: 'request' | 'response';
  /** `oneOf` is read as `anyOf`. */
  readonly oneOfIsAnyOf?: true;
  /** Objects with `additionalProperties: false` may have further fields. */
  readonly isOpen?: true;
  /** The discriminating field has only values that the discriminator knows. */
  readonly checksDiscriminator?: true;
  /** A `$ref` without a target allows any value. Otherwise it is a fault of the contract. */
  readonly allowsBrokenRefs?: true;
  readonly hasExamples?: true;
  /** The formats that are checked. `texts`: only those of `textFormats`. */
  readonly formats: 'none' | 'texts' | 'all';
  /** All errors of a value are listed, with the schemas that it violates. Otherwise only the first. */
  readonly listsAllErrors?: true;
}

const evidence = {
  direction: 'response',
  formats: 'all',
  oneOfIsAnyOf: true,
  checksDiscriminator: true,
  allowsBrokenRefs: true,
  listsAllErrors: true,
} as const satisfies SchemaPolicy;

/**
 * The policy of every reader of schemas, with the reasons for its differences. Decision 37 says what is the same for all.
 * - `formats`: the check of an adapter must not refuse an adapter because of a format that contracts use as a description, such as
 *   `email`. While requests are served, a format is not worth an error for the client. Evidence lists every difference.
 * - `oneOfIsAnyOf`: a response that fits two alternatives harms no client, so it is no evidence against a version.
 * - `checksDiscriminator`: the specification calls a discriminator a hint, so it makes no value invalid. But a client that chooses a
 *   class by the field fails on an unknown value, so it is evidence.
 * - `isOpen`: clients ignore fields that they do not know.
 * - `allowsBrokenRefs`: the rest of the contract can still be compared. An adapter needs the whole contract.
 * - `listsAllErrors`: evidence counts each violation. An adapter is refused for the first one.
 */
export const schemaPolicies = {
  adaptedRequest: { direction: 'request', formats: 'texts' },
  adaptedResponse: { direction: 'response', formats: 'texts' },
  servedResponse: { direction: 'response', formats: 'none' },
  /** Drafts of adapters, with the examples as hints. */
  draft: { hasExamples: true, formats: 'texts' },
  /** Grease plans and replayed requests, which validate nothing. */
  description: { formats: 'none' },
  /** The schema is not of a contract: it describes the file that `replay` reads. */
  requestFile: { formats: 'all', listsAllErrors: true },
  evidence,
  openEvidence: { ...evidence, isOpen: true },
} as const satisfies Readonly<Record<string, SchemaPolicy>>;
