import { readFile } from "node:fs/promises";
import { parse } from "yaml";

export const RULES_FILE = "packaging/monitoring/edge-control.rules.yaml";

interface Alert {
  readonly alert: string;
  readonly expr: string;
}

export async function readAlerts(): Promise<readonly Alert[]> {
  const { groups } = parse(await readFile(RULES_FILE, "utf8")) as { groups: { rules: Alert[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

/** Returns the metrics that a query reads, without `up`, which is Prometheus's own. */
export function metricNames(query: string): string[] {
  return query.match(/\b(?:edge_control|nodejs|process)_\w+/g) ?? [];
}

/** Returns the metrics that a query reads, with their label matchers. */
export function selectors(query: string): string[] {
  return query.match(/\b(?:(?:edge_control|nodejs|process)_\w+|up)(?:\{[^}]*\})?/g) ?? [];
}
