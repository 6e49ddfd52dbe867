import type { Draft } from './menu.ts';

/** The cocktails that are always on the menu. */
export const houseCocktails: readonly Draft[] = [
  { name: 'Negroni', base: 'gin', price: 9.5, ingredients: ['gin', 'campari', 'sweet vermouth'], glass: 'tumbler' },
  {
    name: 'Daiquiri',
    base: 'rum',
    price: 8.5,
    ingredients: ['white rum', 'lime juice', 'sugar syrup'],
    glass: 'coupe',
  },
  {
    name: 'Margarita',
    base: 'tequila',
    price: 9,
    ingredients: ['tequila', 'triple sec', 'lime juice'],
    glass: 'coupe',
  },
  {
    name: 'Moscow Mule',
    base: 'vodka',
    price: 8,
    ingredients: ['vodka', 'ginger beer', 'lime juice'],
    glass: 'copper mug',
  },
  {
    name: 'Old Fashioned',
    base: 'whiskey',
    price: 10,
    ingredients: ['bourbon', 'bitters', 'sugar syrup'],
    glass: 'tumbler',
  },
  {
    name: 'Tom Collins',
    base: 'gin',
    price: 8,
    ingredients: ['gin', 'lemon juice', 'sugar syrup', 'soda'],
    glass: 'collins',
  },
  {
    name: 'Mojito',
    base: 'rum',
    price: 8.5,
    ingredients: ['white rum', 'lime juice', 'mint', 'soda'],
    glass: 'highball',
  },
  {
    name: 'Paloma',
    base: 'tequila',
    price: 8.5,
    ingredients: ['tequila', 'grapefruit soda', 'lime juice'],
    glass: 'highball',
  },
  {
    name: 'Cosmopolitan',
    base: 'vodka',
    price: 9,
    ingredients: ['vodka', 'triple sec', 'cranberry juice'],
    glass: 'martini',
  },
  {
    name: 'Manhattan',
    base: 'whiskey',
    price: 10.5,
    ingredients: ['rye', 'sweet vermouth', 'bitters'],
    glass: 'coupe',
  },
  { name: 'Gimlet', base: 'gin', price: 8.5, ingredients: ['gin', 'lime cordial'], glass: 'coupe' },
  {
    name: 'Mai Tai',
    base: 'rum',
    price: 10,
    ingredients: ['dark rum', 'triple sec', 'orgeat', 'lime juice'],
    glass: 'tumbler',
  },
];
