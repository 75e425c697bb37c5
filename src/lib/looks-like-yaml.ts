/** Whether a text that is not valid JSON is meant as YAML. @param fileName `-` or empty if unknown */
export function looksLikeYaml(text: string, fileName: string): boolean {
  if (/\.ya?ml$/i.test(fileName)) return true;
  // JSON begins with a bracket; YAML with a comment, a document mark, a list, or a key and a colon.
  return /^\s*(?:#[^\n]*\n\s*)*(?:---\s|-\s|[\w.-]+:(?:\s|$))/.test(text.slice(0, MAX_LOOKED_AT));
}

const MAX_LOOKED_AT = 4096;
