import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { bundle } from './bundle.ts';

// `npm run build`: writes dist/.

process.chdir(resolve(import.meta.dirname, '..'));
rmSync('dist', { recursive: true, force: true });
// Only the declarations. `npm run typecheck` checks the types, which takes more than half of the CPU time of the compiler.
const declarations = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck'];
execFileSync(process.execPath, declarations, { stdio: 'inherit' });
await bundle('dist');
