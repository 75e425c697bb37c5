import { format } from "oxfmt";
import { configSchema as agentConfig } from "../../src/agent/config/schema.ts";
import { configSchema as controlConfig } from "../../src/control-plane/config/config.ts";
import { AUDIT_ACTIONS } from "../../src/control-plane/core/people/audit-actions.ts";
import { CONTAINER_FLAGS } from "../../src/edgectl/deploy/container-flags.ts";
import { ERRORS, type ErrorEntry } from "../../src/protocol/errors/errors.ts";
import { rolloutStrategySchema } from "../../src/protocol/fleets/rollout-strategy.ts";
import { commandAnswers } from "./command-answers.ts";
import { composeReference } from "./compose-reference.ts";
import { apiTypes } from "./api-types.ts";
import { type BenchmarkResults, recordedBenchmarks, renderBenchmarks } from "./benchmark-tables.ts";
import { configJsonSchema, configReference } from "./config-reference.ts";
import { metricsReference } from "./metrics-reference.ts";
import { manPage } from "./man-page.ts";
import { readmeFigures } from "./readme-figures.ts";

/**
 * A section of a document that is generated from the source. To add one: an entry below, and two markers in the page.
 */
interface GeneratedSection {
  readonly page: string;
  readonly name: string;
  readonly generate: () => string | Promise<string>;
}

export const GENERATED_SECTIONS: readonly GeneratedSection[] = [
  { page: "docs/errors.md", name: "error-table", generate: errorTable },
  { page: "docs/api.md", name: "command-answers", generate: commandAnswers },
  { page: "docs/configuration.md", name: "agent", generate: () => configReference(agentConfig) },
  { page: "docs/compose.md", name: "service-keys", generate: composeReference },
  { page: "docs/edgectl.md", name: "container-options", generate: containerOptions },
  { page: "docs/people.md", name: "audit-actions", generate: auditActions },
  { page: "docs/fleets.md", name: "strategy", generate: () => configReference(rolloutStrategySchema) },
  { page: "docs/service-monitoring.md", name: "metrics", generate: metricsReference },
  { page: "docs/configuration.md", name: "control", generate: () => configReference(controlConfig) },
  ...benchmarkSections(recordedBenchmarks()),
];

function benchmarkSections(results: BenchmarkResults): GeneratedSection[] {
  const tables = [...renderBenchmarks(results)].map(([name, content]) => ({
    page: "docs/benchmarks.md",
    name,
    generate: () => content,
  }));
  return [...tables, { page: "README.md", name: "figures", generate: () => readmeFigures(results) }];
}

function auditActions(): string {
  const names = Object.keys(AUDIT_ACTIONS).map((action) => `\`${action}\``);
  return `${names.join(", ")}.`;
}

/** A file that is generated as a whole. */
interface GeneratedFile {
  readonly path: string;
  readonly generate: () => string | Promise<string>;
}

export const GENERATED_FILES: readonly GeneratedFile[] = [
  { path: "config.example.json", generate: agentExample },
  { path: "config.schema.json", generate: () => configJsonSchema(agentConfig) },
  { path: "man/edge-agent.8", generate: manPage },
  { path: "src/protocol/api-types.ts", generate: apiTypes },
];

/** Returns the current content of the file, formatted as `npm run check` requires. */
export async function regenerateFile({ path, generate }: GeneratedFile): Promise<string> {
  const content = await generate();
  if (!path.endsWith(".json")) return content;
  const { code } = await format(path, content);
  return code;
}

/** Returns the page with the current content of its generated section, formatted as `npm run check` requires. */
export async function regenerate(section: GeneratedSection, text: string): Promise<string> {
  const page = replaceSection(text, section.name, await section.generate());
  const { code } = await format(section.page, page);
  return code;
}

/**
 * Replaces the text between `<!-- generated: NAME -->` and `<!-- end: NAME -->`. Throws when a marker is missing, since
 * the section would silently be missing from the page.
 */
export function replaceSection(text: string, name: string, content: string): string {
  const [start, end] = [`<!-- generated: ${name} -->`, `<!-- end: ${name} -->`];
  const from = text.indexOf(start);
  const to = text.indexOf(end);
  if (from === -1 || to < from) throw new Error(`the markers ${start} and ${end} are missing`);
  return `${text.slice(0, from + start.length)}\n\n${content}\n\n${text.slice(to)}`;
}

/** Returns the error table as Markdown, in the order of the source. */
function errorTable(): string {
  const rows = Object.entries<ErrorEntry>(ERRORS).map(([code, entry]) => row(code, entry));
  return ["| code | HTTP | retry | message | what to do |", "| --- | --- | --- | --- | --- |", ...rows].join("\n");
}

function row(code: string, entry: ErrorEntry): string {
  const status = entry.endsDeployment ? 200 : entry.http;
  return tableRow([`\`${code}\``, status, entry.retryable ? "yes" : "no", entry.message, entry.hint]);
}

/** Returns the options of an app's container as Markdown, in the order of edgectl's help. */
function containerOptions(): string {
  const rows = CONTAINER_FLAGS.map(({ flags, help, field }) => tableRow([`\`${flags}\``, help, `\`${field}\``]));
  return ["| option | what it does | field of the app |", "| --- | --- | --- |", ...rows].join("\n");
}

function tableRow(cells: readonly unknown[]): string {
  return `| ${cells.map((cell) => String(cell).replaceAll("|", String.raw`\|`)).join(" | ")} |`;
}

/** Returns the agent's example configuration: the required keys, and every default. */
function agentExample(): string {
  const { device_token: _token, ...config } = agentConfig.parse({
    control_plane_url: "wss://control.example.com/v1/agent",
    device_token_file: "/etc/edge-agent/token",
  });
  return JSON.stringify(config, undefined, 2);
}
