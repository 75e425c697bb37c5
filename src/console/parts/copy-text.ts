/**
 * Copies a text and returns whether that worked. Browsers have the clipboard only over HTTPS and on loopback; otherwise the
 * element that shows the text is selected, and copied as older browsers do.
 */
export async function copyText(text: string, element: HTMLElement | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    if (!element) return false;
    getSelection()?.selectAllChildren(element);
    // The only way without a secure context.
    // oxlint-disable-next-line typescript/no-deprecated
    return document.execCommand("copy");
  }
}
