import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { bundle } from './bundle.ts';

// `npm run build`: writes dist/.

process.chdir(resolve(import.meta.dirname, '..'));
rmSync('dist', { recursive: true, force: true });
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
await bundle('dist');
