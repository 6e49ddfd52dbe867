import { writeFileSync } from 'node:fs';
import { schemaText } from './schema.ts';

writeFileSync(new URL('../routes.schema.json', import.meta.url), schemaText());
