/** Targets of the links and images of a Markdown text, outside code. */
export function linksOf(markdown: string): string[] {
  return [...withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]:\s*(\S+)/gm)].map(
    ([, inline, reference]) => inline ?? reference ?? "",
  );
}

/** Anchors of the headings, formed as GitHub does. */
export function anchorsOf(markdown: string): string[] {
  const headings = [...withoutCode(markdown).matchAll(/^#{1,6}\s+(.+?)\s*$/gm)].map(([, heading = ""]) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(/\s/g, "-"),
  );
}

// Inline code can be part of a heading or link text: only its backticks are removed.
function withoutCode(markdown: string): string {
  return markdown.replaceAll(/^(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1/gm, "").replaceAll("`", "");
}
