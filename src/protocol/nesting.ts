/** Deepest nesting of objects and arrays in a frame: more than any frame needs, and little for whoever walks it. */
export const MAX_NESTING_DEPTH = 64;

/** Whether JSON is nested more deeply than that. Of text that is no JSON it may return either. */
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

/** Where the quotation mark stands that ends the string which begins here. */
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
