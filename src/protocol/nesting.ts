/** Maximum nesting of objects and arrays in a frame. Deeper than any frame needs, and safe for recursive code. */
export const MAX_NESTING_DEPTH = 64;

/** Whether JSON exceeds `MAX_NESTING_DEPTH`. The result is undefined for text that is not JSON. */
export function isNestedTooDeeply(json: string): boolean {
  let depth = 0;
  for (let index = 0; index < json.length; index++) {
    const sign = json[index];
    if (sign === '"') index = endOfString(json, index);
    else if (sign === "]" || sign === "}") depth--;
    else if ((sign === "[" || sign === "{") && ++depth > MAX_NESTING_DEPTH) return true;
  }
  return false;
}

/** Index of the closing quotation mark of the string that begins at `start`. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    if (!isEscaped(json, end)) return end;
  }
  return json.length;
}

function isEscaped(json: string, index: number): boolean {
  let before = index;
  while (json[before - 1] === "\\") before--;
  return (index - before) % 2 === 1;
}
