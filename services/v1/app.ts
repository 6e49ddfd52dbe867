import express, { type Express } from 'express';
import { readDraft } from './draft.ts';
import { listCocktails } from './list.ts';
import { Menu } from './menu.ts';
import { readBaseSpirit, readId, readWord } from './parameters.ts';
import { allowOnly, answerError, answerUnknownRoute, HttpError } from './problem.ts';

// Enough for the largest cocktail that the contract allows, even if every character is escaped.
const draftLimit = '16kb';

/** The cocktails API, version 1. Its paths have no version prefix, because the gateway removes it. */
export function createApp(menu = new Menu()): Express {
  const app = express();
  app.disable('x-powered-by');
  // Serves only the exact paths of the contract: clients could come to depend on other spellings.
  app.enable('case sensitive routing');
  app.enable('strict routing');

  app
    .route('/cocktails')
    .get(listCocktails(menu))
    .post(express.json({ limit: draftLimit }), (req, res) => {
      const cocktail = menu.add(readDraft(req));
      res.status(201).location(`/drinks/${cocktail.id}`).json(cocktail);
    })
    .all(allowOnly('GET, HEAD, POST'));

  app
    .route('/drinks/:id')
    .get((req, res) => {
      const id = readId(req.params.id);
      const cocktail = menu.find(id);
      if (cocktail === undefined) throw new HttpError(404, `There is no drink ${id}`);
      res.json(cocktail);
    })
    .all(allowOnly('GET, HEAD'));

  app
    .route('/ingredients')
    .get((req, res) => {
      res.json({ ingredients: menu.ingredients(readBaseSpirit(req.query)) });
    })
    .all(allowOnly('GET, HEAD'));

  app
    .route('/legacy-search')
    .get((req, res) => {
      res.json({ cocktails: menu.search(readWord(req.query, 'q')) });
    })
    .all(allowOnly('GET, HEAD'));

  app
    .route('/health')
    .get((_req, res) => {
      res.set('Cache-Control', 'no-store').json({ status: 'ok' });
    })
    .all(allowOnly('GET, HEAD'));

  app.use(answerUnknownRoute);
  app.use(answerError);
  return app;
}
