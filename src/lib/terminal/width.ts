import stringWidth from "string-width";

const ELLIPSIS = "…";

/** Columns a text takes on a terminal. */
export function displayWidth(text: string): number {
  return stringWidth(text);
}

/** Fills a text up to `width` columns; a longer one is left as it is. */
export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

/** The same with the text at the right. */
export function padStart(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - displayWidth(text))) + text;
}

/** Cuts a text without styling to `width` columns, never inside a character, with an ellipsis where it was cut. */
export function truncate(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let result = "";
  let used = 0;
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text)) {
    const next = used + displayWidth(segment);
    if (next > width - 1) break;
    result += segment;
    used = next;
  }
  return width <= 0 ? "" : result + ELLIPSIS;
}

/** Breaks a text into lines of at most `width` columns at spaces; a longer word gets a line of its own. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && displayWidth(longer) > width) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  lines.push(line);
  return lines;
}
