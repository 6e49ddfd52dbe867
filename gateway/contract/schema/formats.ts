import type { Options } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import type { SchemaPolicy } from './policies.ts';

type IsText = (text: string) => boolean;

const library = fullFormats as unknown as Readonly<
  Record<'date' | 'date-time' | 'time', { readonly validate: IsText }>
>;
const instant = /^[^t]*t[^t]*(?:z|[+-]\d\d:\d\d)$/i;
const timeOfDay = /(?:z|[+-]\d\d:\d\d)$/i;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The formats of texts that an adapter is checked for. RFC 3339 §5.6 and RFC 4122: the library also accepts a space instead of the `T`,
 * offsets such as `+0100`, and `urn:uuid:`. Many parsers do not.
 */
export const textFormats: Readonly<Record<string, IsText>> = {
  date: library.date.validate,
  'date-time': (text) => instant.test(text) && library['date-time'].validate(text),
  uuid: (text) => uuid.test(text),
};

export const formatsOf: Readonly<Record<SchemaPolicy['formats'], Options>> = {
  none: { validateFormats: false },
  texts: { formats: textFormats },
  all: {
    formats: {
      ...fullFormats,
      ...textFormats,
      time: (text) => timeOfDay.test(text) && library.time.validate(text),
      // 2^63 is one more than the largest value, but as a double it is the same number.
      int64: { type: 'number', validate: (value) => Number.isInteger(value) && Math.abs(value) <= 2 ** 63 },
    },
  },
};
