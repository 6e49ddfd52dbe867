import type { Draft } from './menu.ts';

/** The cocktails that are always on the menu. */
export const houseCocktails: readonly Draft[] = [
  { title: 'Negroni', base: 'gin', price: '9.50', ingredients: ['gin', 'campari', 'sweet vermouth'] },
  { title: 'Daiquiri', base: 'rum', price: '8.50', ingredients: ['white rum', 'lime juice', 'sugar syrup'] },
  { title: 'Margarita', base: 'tequila', price: '9.00', ingredients: ['tequila', 'triple sec', 'lime juice'] },
  { title: 'Moscow Mule', base: 'vodka', price: '8.00', ingredients: ['vodka', 'ginger beer', 'lime juice'] },
  { title: 'Old Fashioned', base: 'whiskey', price: '10.00', ingredients: ['bourbon', 'bitters', 'sugar syrup'] },
  { title: 'Tom Collins', base: 'gin', price: '8.00', ingredients: ['gin', 'lemon juice', 'sugar syrup', 'soda'] },
  { title: 'Mojito', base: 'rum', price: '8.50', ingredients: ['white rum', 'lime juice', 'mint', 'soda'] },
  { title: 'Paloma', base: 'tequila', price: '8.50', ingredients: ['tequila', 'grapefruit soda', 'lime juice'] },
  { title: 'Cosmopolitan', base: 'vodka', price: '9.00', ingredients: ['vodka', 'triple sec', 'cranberry juice'] },
  { title: 'Manhattan', base: 'whiskey', price: '10.50', ingredients: ['rye', 'sweet vermouth', 'bitters'] },
  { title: 'Gimlet', base: 'gin', price: '8.50', ingredients: ['gin', 'lime cordial'] },
  { title: 'Mai Tai', base: 'rum', price: '10.00', ingredients: ['dark rum', 'triple sec', 'orgeat', 'lime juice'] },
];
