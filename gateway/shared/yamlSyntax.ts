/** By the code of the parser's error. */
const remedies: Partial<Record<string, string>> = {
  DUPLICATE_KEY: 'Keep one of the two.',
  TAB_AS_INDENT: 'Indent with spaces.',
  TAG_RESOLVE_FAILED: 'Remove the tag, or put the value in quotes if it begins with an exclamation mark.',
  BAD_SCALAR_START: 'Put the value in quotes.',
  BAD_INDENT: 'Indent the keys of one map alike, and close brackets and quotes.',
  BLOCK_IN_FLOW: 'Write a comma between two items in brackets.',
  MISSING_CHAR: 'Close the bracket or the quote, or write the missing comma or colon, with a space behind it.',
  MULTIPLE_DOCS: 'Keep one document to a file.',
};

export function yamlRemedy(code: string): string {
  return remedies[code] ?? 'Correct the syntax.';
}

/** The parser's message without what it quotes from the file, which may be a secret. A quotation follows `word: `. */
export function withoutQuotation(message: string): string {
  return message.replace(/(?<=\w): .*$/s, '').replace(/\.$/, '');
}
