import { type KeyRule, SERVICE_KEYS } from "../../src/edgectl/compose/keys.ts";

/** Returns Markdown tables of every key of a service: what it becomes, what has no effect, what is refused. */
export function composeReference(): string {
  const rules = Object.entries(SERVICE_KEYS);
  const rows = (row: (rule: KeyRule) => string | undefined): string[] =>
    rules.flatMap(([key, rule]) => {
      const text = row(rule);
      return text === undefined ? [] : [`| \`${key}\` | ${text.replaceAll("|", String.raw`\|`)} |`];
    });
  return [
    "| key of a service | field of the app |",
    "| --- | --- |",
    ...rows(becomes),
    "",
    "Without effect, which is noted:",
    "",
    "| key of a service | note |",
    "| --- | --- |",
    ...rows((rule) => ("note" in rule ? rule.note : undefined)),
    "",
    "Refused:",
    "",
    "| key of a service | why, and what to use instead |",
    "| --- | --- |",
    ...rows((rule) => ("refusal" in rule ? [rule.refusal, rule.advice].join(" ").trim() : undefined)),
  ].join("\n");
}

function becomes(rule: KeyRule): string | undefined {
  if ("to" in rule) return rule.to.map((name) => `\`${name}\``).join(", ");
  return "means" in rule ? `none: ${rule.means}` : undefined;
}
