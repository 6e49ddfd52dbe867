import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import express, { type Router } from 'express';
import { asset, packaged, sendAsset } from './assets.ts';
import { StatusEvents, type Watched } from './events.ts';
import { logout } from './login.ts';
import type { Sessions } from './sessions.ts';

/** The page for operators at `/`, its assets, its events, and the way out. What it shows it asks of the API beside it. */
export function dashboard(watched: Watched, sessions: Sessions): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  const events = new StatusEvents(watched);
  router.get('/', sendAsset('index.html'));
  // Named one by one: nothing else of the disk can be asked for.
  for (const name of [...readdirSync(dirname(asset('index.html'))), ...Object.keys(packaged)]) {
    if (/\.(?:js|css|svg)$/.test(name)) router.get(`/assets/${name}`, sendAsset(name));
  }
  router.get('/api/events', events.handle);
  router.post('/logout', logout(sessions));
  return router;
}
