import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { RequestHandler } from 'express';

const uplot = createRequire(import.meta.url).resolve('uplot/dist/uPlot.iife.min.js');

/** Files of other packages, by the name that our page has for them. */
export const packaged: Readonly<Record<string, string>> = {
  'uplot.js': uplot,
  'uplot.css': uplot.replace(/iife\.min\.js$/, 'min.css'),
};

/** Absolute path of a file of the page; beside this one in the sources and in the built package. */
export function asset(name: string): string {
  return packaged[name] ?? fileURLToPath(new URL(`assets/${name}`, import.meta.url));
}

/** Kept by browsers, but never used unasked: another version of the gateway may run by now. */
export function sendAsset(name: string): RequestHandler {
  const file = asset(name);
  return (_req, res, next) => {
    res.sendFile(file, { cacheControl: false, headers: { 'Cache-Control': 'no-cache' } }, (error) => {
      // A client that left is no failure of ours.
      if (error && !res.headersSent && !res.destroyed) next(error);
    });
  };
}
