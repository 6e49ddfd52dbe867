import express, { type Express, Router } from 'express';
import { readDraft } from './draft.ts';
import { listCocktails } from './list.ts';
import { Menu } from './menu.ts';
import { readId, readRequiredBaseSpirit } from './parameters.ts';
import { allowOnly, answerError, answerUnknownRoute, HttpError } from './problem.ts';

// Enough for the largest cocktail that the contract allows, even if every character is escaped.
const draftLimit = '16kb';

/** The cocktails API, version 2. All its paths and links begin with /v2, except a second health check at the root. */
export function createApp(menu = new Menu()): Express {
  const app = express();
  app.disable('x-powered-by');
  // Serves only the exact paths of the contract: clients could come to depend on other spellings.
  app.enable('case sensitive routing');
  app.enable('strict routing');

  app.use('/v2', createApi(menu));
  // Also at the root, for probes that do not know the version prefix.
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
    .all(allowOnly('GET, HEAD, POST'));

  api
    .route('/cocktails/:id')
    .get((req, res) => {
      const id = readId(req.params.id);
      const cocktail = menu.find(id);
      if (cocktail === undefined) throw new HttpError(404, `There is no cocktail ${id}`);
      res.json(cocktail);
    })
    .all(allowOnly('GET, HEAD'));

  api
    .route('/ingredients')
    .get((req, res) => {
      res.json({ ingredients: menu.ingredients(readRequiredBaseSpirit(req.query)) });
    })
    .all(allowOnly('GET, HEAD'));

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
    .all(allowOnly('GET, HEAD'));
  return health;
}
