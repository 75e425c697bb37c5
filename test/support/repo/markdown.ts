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

export interface Table {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Tables of a Markdown text, outside code, with the text of their cells. */
export function tablesOf(markdown: string): Table[] {
  const tables = withoutCode(markdown).matchAll(/^\|.*\n\|[ :|-]+\|\n(?:\|.*\n?)*/gm);
  return [...tables].map(([text]) => {
    const [header = [], , ...rows] = text.trimEnd().split("\n").map(cellsOf);
    return { header, rows };
  });
}

function cellsOf(row: string): string[] {
  const cells = row.split(/(?<!\\)\|/).slice(1, -1);
  return cells.map((cell) => cell.trim());
}

/** Bold words that begin a paragraph or an entry of a list, without their last full stop. */
export function leadInsOf(markdown: string): string[] {
  const found = withoutCode(markdown).matchAll(/^(?:\d+\. )?\*\*(.+?)\.?\*\*/gm);
  return [...found].map(([, leadIn = ""]) => leadIn);
}

// Inline code can be part of a heading or link text: only its backticks are removed.
function withoutCode(markdown: string): string {
  return markdown.replaceAll(/^(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1/gm, "").replaceAll("`", "");
}
