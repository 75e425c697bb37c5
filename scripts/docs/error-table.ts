import { ERRORS, type ErrorEntry } from "../../src/protocol/errors.ts";

/** The error table as Markdown, in the order of the source. */
export function errorTable(): string {
  const rows = Object.entries<ErrorEntry>(ERRORS).map(([code, entry]) => row(code, entry));
  return ["| code | HTTP | retry | message | what to do |", "| --- | --- | --- | --- | --- |", ...rows].join("\n");
}

function row(code: string, entry: ErrorEntry): string {
  const status = entry.endsDeployment ? 200 : entry.http;
  const cells = [`\`${code}\``, status, entry.retryable ? "yes" : "no", entry.message, entry.hint];
  return `| ${cells.map((cell) => String(cell).replaceAll("|", String.raw`\|`)).join(" | ")} |`;
}
