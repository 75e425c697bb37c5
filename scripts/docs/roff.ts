/** Escapes text for a line of a manual page. */
export function roff(text: string): string {
  const escaped = text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll("'", "\\(aq").replaceAll('"', "\\(dq");
  return escaped.replace(/^\./, "\\&.");
}

/** Escapes and quotes text for one argument of a macro. */
export function quoted(text: string): string {
  return `"${roff(text)}"`;
}

/** Formats a term with its explanation. */
export function tagged(term: string, text: string): string[] {
  return [".TP", `.B ${roff(term)}`, ...text.split("\n").map(roff)];
}

/** Formats paragraphs. Indented lines are kept verbatim. */
export function paragraphs(text: string): string[] {
  if (text === "") return [];
  return text.split(/\n{2,}/).flatMap((block) => [".PP"].concat(lines(block)));
}

function lines(block: string): string[] {
  const result: string[] = [];
  let verbatim = false;
  for (const line of block.split("\n")) {
    const isVerbatim = line.startsWith("  ");
    if (isVerbatim !== verbatim) result.push(isVerbatim ? ".RS 4\n.nf" : ".fi\n.RE");
    verbatim = isVerbatim;
    result.push(roff(isVerbatim ? line.slice(2) : line));
  }
  return verbatim ? [...result, ".fi\n.RE"] : result;
}
