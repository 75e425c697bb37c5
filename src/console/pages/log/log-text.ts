/** A colour or weight of a terminal. It changes nothing but the looks, so it is left out. */
// oxlint-disable-next-line no-control-regex
const COLOUR = /\u001B\[[\d;:]*m/g;

/** A line of a log without a terminal's colours, and without the carriage return of its end. */
export function plainLine(text: string): string {
  return text.replaceAll(COLOUR, "").replace(/\r$/, "");
}
