import { X509Certificate } from 'node:crypto';

const certificateBlocks =
  /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----.*?-----END (?:X509 |TRUSTED )?CERTIFICATE-----/gs;

/**
 * Why the content of a file of certificates cannot be used, as the rest of a sentence; undefined if it can. Node ignores a CA that it
 * cannot read, and then rejects every certificate with a reason that does not name the file.
 */
export function certificatesProblem(pem: string): string | undefined {
  const blocks = pem.match(certificateBlocks) ?? [];
  if (blocks.length === 0) return 'holds no certificate in PEM form';
  const damaged = blocks.findIndex((block) => !isCertificate(block));
  return damaged === -1 ? undefined : `holds a damaged certificate (number ${damaged + 1} of ${blocks.length})`;
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}
