/** Begins with a digit and has no slash, since it also names a folder; no hyphen, which separates revisions in Debian's versions. */
const VERSION_PATTERN = /^\d[\dA-Za-z.+~]{0,63}$/;

/** Whether the text is a version of edge-agent, such as `1.4.0` or `1.5.0~beta1`. */
export function isVersion(text: string): boolean {
  return VERSION_PATTERN.test(text);
}

/**
 * Compares two versions as dpkg does, so that packages and releases have one order: `~` sorts before everything, digits
 * count as numbers. @returns a negative number, 0 or a positive one
 */
export function compareVersions(a: string, b: string): number {
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    while (isText(a[i]) || isText(b[j])) {
      const difference = weightOf(a[i]) - weightOf(b[j]);
      if (difference !== 0) return difference;
      i++;
      j++;
    }
    while (a[i] === "0") i++;
    while (b[j] === "0") j++;
    let first = 0;
    for (; isDigit(a[i]) && isDigit(b[j]); i++, j++) first ||= a.charCodeAt(i) - b.charCodeAt(j);
    if (isDigit(a[i])) return 1;
    if (isDigit(b[j])) return -1;
    if (first !== 0) return first;
  }
  return 0;
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && /\d/.test(character);
}

function isText(character: string | undefined): boolean {
  return character !== undefined && !isDigit(character);
}

/** The end of a version sorts like a digit: before letters, and after `~`. */
function weightOf(character: string | undefined): number {
  if (!isText(character) || character === undefined) return 0;
  if (character === "~") return -1;
  return character.charCodeAt(0) + (/[A-Za-z]/.test(character) ? 0 : 256);
}
