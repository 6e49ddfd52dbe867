import { join } from 'node:path';
import { inject } from 'vitest';

// Built from the present sources. It starts in less CPU time than the sources.

/** The program of the gateway. */
export const gatewayMain: string = join(inject('builtGateway'), 'dist', 'main.js');

/** The command `version-gateway`, which starts that program. */
export const gatewayCommand: string = join(inject('builtGateway'), 'bin', 'version-gateway.js');
