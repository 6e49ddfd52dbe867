/** An instant as IMF-fixdate (RFC 9110 §5.6.7): `Fri, 30 Jun 2028 23:59:59 GMT`. ECMAScript fixes this very format. */
export function httpDate(instant: number): string {
  return new Date(instant).toUTCString();
}

const imfFixdate = /^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/;

/** Reads an IMF-fixdate; undefined for anything else. Its obsolete forms have had their time. */
export function parseHttpDate(text: string): number | undefined {
  if (!imfFixdate.test(text)) return undefined;
  const instant = Date.parse(text);
  return Number.isNaN(instant) ? undefined : instant;
}
