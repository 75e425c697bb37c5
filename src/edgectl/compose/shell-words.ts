/**
 * Splits a command as a POSIX shell does, without expanding anything: at white space, with quotes and backslashes.
 * Returns `undefined` if a quote is not closed, or a backslash ends the text.
 */
export function splitWords(text: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let rest = text;
  while (rest !== "") {
    const [part = "", space, single, double, escaped, plain] = PART.exec(rest) ?? [];
    if (part === "") return undefined;
    rest = rest.slice(part.length);
    if (space !== undefined) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? "") + (single ?? unescapeQuoted(double) ?? escaped ?? plain ?? "");
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}

const PART = /^(?:(\s+)|'([^']*)'|"((?:\\[\s\S]|[^"\\])*)"|\\([\s\S])|([^\s'"\\]+))/;

function unescapeQuoted(text: string | undefined): string | undefined {
  return text?.replaceAll(/\\([$`"\\\n])/g, (_, character: string) => (character === "\n" ? "" : character));
}
