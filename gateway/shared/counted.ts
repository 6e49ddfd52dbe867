/** `1,204 requests`, `1 request`. `count`: a whole number. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** `1,204`, of a whole number. `Intl` would do it too, but to load it costs a short command more than all its work. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}
