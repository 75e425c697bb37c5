/** Escape sequence for colour or weight. All other escape sequences are replaced. */
const COLOUR = "\\u001b\\[[\\d;]*m";
const CONTROL = new RegExp(`(${COLOUR})|[\\p{Cc}\\u2028\\u2029]`, "gu");

/**
 * Makes a line of output safe to show on a terminal: replaces control characters other than tabs by U+FFFD, and keeps
 * colours.
 */
export function printable(text: string): string {
  return text.replaceAll(CONTROL, (found, colour: string | undefined) =>
    (colour ?? found === "\t") ? found : "\u{fffd}",
  );
}
