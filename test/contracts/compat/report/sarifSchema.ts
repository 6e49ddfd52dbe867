import { createRequire } from 'node:module';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';

/** The schema of OASIS, as SARIF 2.1.0 was published; its draft of JSON Schema is older than what Ajv reads. */
const { $schema, id, ...schema } = createRequire(import.meta.url)(
  '@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json',
) as Record<string, unknown>;

const ajv = new Ajv({ allErrors: true, strict: false, unicodeRegExp: false });
addFormats.default(ajv);
const isValid = ajv.compile(schema);

/** The errors of a log by the schema; empty if it is valid. */
export function sarifFaults(log: unknown): string[] {
  isValid(log);
  return (isValid.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
