import stringWidth from "string-width";

const ELLIPSIS = "…";

/** Returns the width of a text on a terminal, in columns. */
export function displayWidth(text: string): number {
  return stringWidth(text);
}

/** Pads a text at its end to `width` columns. */
export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

/** Pads a text at its start to `width` columns. */
export function padStart(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - displayWidth(text))) + text;
}

/** Truncates a text without styling to `width` columns, with an ellipsis. Never splits a character. */
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

/** Wraps a text at spaces to lines of at most `width` columns. A longer word has its own line. */
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
