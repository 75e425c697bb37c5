/** Splits `key=value` at the first `=`; a key alone is a tag with an empty value. The service validates both. */
export function parseTag(text: string): Readonly<Record<string, string>> {
  const [key = "", ...rest] = text.trim().split("=");
  return { [key.trim()]: rest.join("=").trim() };
}
