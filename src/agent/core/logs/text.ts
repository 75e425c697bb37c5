/** A change of colour or weight, which terminals are meant to be told. Everything else they can be told is left out. */
const COLOUR = "\\u001b\\[[\\d;]*m";
const CONTROL = new RegExp(`(${COLOUR})|[\\p{Cc}\\u2028\\u2029]`, "gu");

/**
 * A line of output that is safe to show: control characters other than tabs become replacement characters, since output
 * may be binary, and a terminal would obey it. Colours stay.
 */
export function printable(text: string): string {
  return text.replaceAll(CONTROL, (found, colour: string | undefined) =>
    (colour ?? found === "\t") ? found : "\u{fffd}",
  );
}
