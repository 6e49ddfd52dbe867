import type { Request, RequestHandler } from 'express';
import type { Menu } from './menu.ts';
import { readBaseSpirit, readInteger } from './parameters.ts';

const thirtyDaysMs = 30 * 24 * 3600 * 1000;

/** `GET /cocktails`: a page of the menu, the link to the next page, and the number of cocktails that are new to this visitor. */
export function listCocktails(menu: Menu): RequestHandler {
  return (req, res) => {
    const baseSpirit = readBaseSpirit(req.query);
    const limit = readInteger(req.query, 'limit', { min: 1, max: 50 }) ?? 10;
    const afterId = readInteger(req.query, 'cursor', { min: 0, max: 999_999_999 }) ?? 0;

    // Includes the mount point, so that links and the cookie stay below /v2.
    const collection = `${req.baseUrl}/cocktails`;
    const { cocktails, hasMore } = menu.page({ base: baseSpirit, after: afterId, limit });
    const last = cocktails.at(-1);
    if (hasMore && last !== undefined) {
      const next = new URLSearchParams({
        ...(baseSpirit && { base: baseSpirit }),
        limit: String(limit),
        cursor: String(last.id),
      });
      res.set('Link', `<${collection}?${next}>; rel="next"`);
    }

    res.cookie('last_seen', String(menu.newestId), {
      path: collection,
      httpOnly: true,
      sameSite: 'lax',
      maxAge: thirtyDaysMs,
    });
    // `unseen` differs for each visitor, so shared caches must not store the response.
    res.set('Cache-Control', 'private, no-cache');
    const lastSeen = lastSeenBy(req);
    res.json({ cocktails, ...(lastSeen !== undefined && { unseen: menu.countAfter(lastSeen) }) });
  };
}

// An invalid cookie is ignored.
function lastSeenBy(req: Request): number | undefined {
  const match = /(?:^|;\s*)last_seen=(\d{1,9})(?:;|$)/.exec(req.headers.cookie ?? '');
  return match ? Number(match[1]) : undefined;
}
