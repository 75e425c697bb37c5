import { readFileSync } from "node:fs";

/** Returns the last lines of a rotated log, oldest first; `undefined` if there is no readable file. */
export function readLogFiles(path: string, lines: number, maxFiles: number): string[] | undefined {
  const found: string[] = [];
  for (let number = 0; number < maxFiles && found.length < lines; number++) {
    const content = read(number === 0 ? path : `${path}.${number}`);
    // The newest file is missing for a moment during rotation.
    if (content === undefined && number > 0) break;
    found.unshift(...(content ?? "").split("\n").filter((line) => line !== ""));
    if (content === undefined && read(`${path}.1`) === undefined) return undefined;
  }
  return lines <= 0 ? [] : found.slice(-lines);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
