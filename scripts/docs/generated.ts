import { format } from "oxfmt";
import { errorTable } from "./error-table.ts";
import { replaceSection } from "./sections.ts";

/** A part of a document that is made from the source. To add one: an entry here, and its two markers in the page. */
interface GeneratedSection {
  readonly page: string;
  readonly name: string;
  readonly generate: () => string;
}

export const GENERATED_SECTIONS: readonly GeneratedSection[] = [
  { page: "docs/errors.md", name: "error-table", generate: errorTable },
];

/** The page with its generated section as the source says it should be now, formatted as the check wants it. */
export async function regenerate(section: GeneratedSection, text: string): Promise<string> {
  const page = replaceSection(text, section.name, section.generate());
  const { code } = await format(section.page, page);
  return code;
}
