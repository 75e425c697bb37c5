/**
 * Replaces what stands between `<!-- generated: NAME -->` and `<!-- end: NAME -->`. Throws when the text does not have
 * these markers, since the section would silently be missing.
 */
export function replaceSection(text: string, name: string, content: string): string {
  const [start, end] = [`<!-- generated: ${name} -->`, `<!-- end: ${name} -->`];
  const from = text.indexOf(start);
  const to = text.indexOf(end);
  if (from === -1 || to < from) throw new Error(`the markers ${start} and ${end} are missing`);
  return `${text.slice(0, from + start.length)}\n\n${content}\n\n${text.slice(to)}`;
}
