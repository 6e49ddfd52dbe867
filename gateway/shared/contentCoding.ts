import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib';

const decoders = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
};

/** `coding`: the value of Content-Encoding. @returns the decoded body, or why it cannot be decoded */
export async function decodedBody(
  body: Uint8Array,
  coding: string | undefined,
  maxBytes: number,
): Promise<Uint8Array | 'body' | 'coding'> {
  const codings = (coding ?? '').toLowerCase().split(',');
  let result = body;
  // Content-Encoding lists the codings in the order in which they were applied (RFC 9110 §8.4), so decode the last one first.
  for (const name of codings.map((one) => one.trim()).reverse()) {
    if (name === '' || name === 'identity') continue;
    if (!isKnownCoding(name)) return 'coding';
    try {
      result = await decoders[name](result, { maxOutputLength: maxBytes });
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'body' : 'coding';
    }
  }
  return result;
}

function isKnownCoding(name: string): name is keyof typeof decoders {
  return Object.hasOwn(decoders, name);
}
