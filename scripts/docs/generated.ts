import { format } from "oxfmt";
import { configSchema as agentConfig } from "../../src/agent/config/schema.ts";
import { configSchema as controlConfig } from "../../src/control-plane/config.ts";
import { agentExample } from "./agent-example.ts";
import { configJsonSchema, configReference } from "./config-reference.ts";
import { errorTable } from "./error-table.ts";
import { manPage } from "./man-page.ts";
import { replaceSection } from "./sections.ts";

/** A part of a document that is made from the source. To add one: an entry here, and its two markers in the page. */
interface GeneratedSection {
  readonly page: string;
  readonly name: string;
  readonly generate: () => string;
}

export const GENERATED_SECTIONS: readonly GeneratedSection[] = [
  { page: "docs/errors.md", name: "error-table", generate: errorTable },
  { page: "docs/configuration.md", name: "agent", generate: () => configReference(agentConfig) },
  { page: "docs/configuration.md", name: "control", generate: () => configReference(controlConfig) },
];

/** A file that is made from the source as a whole. */
interface GeneratedFile {
  readonly path: string;
  readonly generate: () => string | Promise<string>;
}

export const GENERATED_FILES: readonly GeneratedFile[] = [
  { path: "config.example.json", generate: agentExample },
  { path: "config.schema.json", generate: () => configJsonSchema(agentConfig) },
  { path: "man/edge-agent.8", generate: manPage },
];

/** The file as the source says it should be now, formatted as the check wants it. */
export async function regenerateFile({ path, generate }: GeneratedFile): Promise<string> {
  const content = await generate();
  if (!path.endsWith(".json")) return content;
  const { code } = await format(path, content);
  return code;
}

/** The page with its generated section as the source says it should be now, formatted as the check wants it. */
export async function regenerate(section: GeneratedSection, text: string): Promise<string> {
  const page = replaceSection(text, section.name, section.generate());
  const { code } = await format(section.page, page);
  return code;
}
