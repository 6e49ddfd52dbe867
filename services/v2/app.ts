import express, { type Express, Router } from 'express';
import { readDraft } from './draft.ts';
import { listCocktails } from './list.ts';
import { Menu } from './menu.ts';
import { readId, readRequiredBase } from './parameters.ts';
import { answerError, answerUnknownRoute, only, Refusal } from './problem.ts';

const draftLimit = '16kb'; // a cocktail at every bound of the contract fits, even with each character escaped

/** The cocktails API, version 2, which knows its prefix: everything is served below /v2 and points there. */
export function createApp(menu = new Menu()): Express {
  const app = express();
  app.disable('x-powered-by');
  // Serve the paths of the contract and no other spelling of them: a client that relied on one would be a contract too.
  app.enable('case sensitive routing');
  app.enable('strict routing');

  app.use('/v2', createApi(menu));
  // Again at the root, for a probe that asks this process itself and not the version it happens to serve.
  app.use(createHealth());
  app.use(answerUnknownRoute);
  app.use(answerError);
  return app;
}

function createApi(menu: Menu): Router {
  const api = Router({ caseSensitive: true, strict: true });

  api
    .route('/cocktails')
    .get(listCocktails(menu))
    .post(express.json({ limit: draftLimit }), (req, res) => {
      const cocktail = menu.add(readDraft(req));
      res.status(201).location(`${req.baseUrl}/cocktails/${cocktail.id}`).json(cocktail);
    })
    .all(only('GET, HEAD, POST'));

  api
    .route('/cocktails/:id')
    .get((req, res) => {
      const id = readId(req.params.id);
      const cocktail = menu.find(id);
      if (cocktail === undefined) throw new Refusal(404, `There is no cocktail ${id}`);
      res.json(cocktail);
    })
    .all(only('GET, HEAD'));

  api
    .route('/ingredients')
    .get((req, res) => {
      res.json({ ingredients: menu.ingredients(readRequiredBase(req.query)) });
    })
    .all(only('GET, HEAD'));

  api.use(createHealth());
  return api;
}

function createHealth(): Router {
  const health = Router({ caseSensitive: true, strict: true });
  health
    .route('/health')
    .get((_req, res) => {
      res.set('Cache-Control', 'no-store').json({ status: 'ok' });
    })
    .all(only('GET, HEAD'));
  return health;
}
