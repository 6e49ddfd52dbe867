import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inject } from 'vitest';
import type { threads } from '../../gateway/shared/packageFiles.ts';

// In tests, vitest.config.ts puts this module in place of gateway/shared/packageFiles.ts. The threads that a test starts come from
// the built gateway. Each of them would otherwise load all its modules as TypeScript, in three times the CPU time.

export { adminApiFile, assetFile, packageVersion, threads } from '../../gateway/shared/packageFiles.ts';

export function threadFile(thread: (typeof threads)[number]): URL {
  return pathToFileURL(join(inject('builtGateway'), 'dist', `${thread}.js`));
}
