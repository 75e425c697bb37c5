import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { wrap } from "../../lib/terminal/width.ts";
import type { UsageComparison } from "../sims/compare-usage.ts";
import type { Part, SimDetails } from "../sims/read-sims.ts";
import { momentText } from "../sims/sim-words.ts";

interface Row {
  readonly what: string;
  readonly bytes: number;
  readonly note: string;
}

/** An answer of the device may be this old and count as current, in seconds. */
const MAX_CURRENT_AGE_S = 60;

/**
 * Renders what the operators counted beside what the agent counted, with the difference in words.
 *
 * @param now Unix seconds
 */
export function renderComparison(
  comparison: Part<UsageComparison>,
  shown: readonly SimDetails[],
  now: number,
  theme: Theme,
  width: number | undefined,
): string {
  const title = theme.bold("Operator and agent, this month");
  if ("missing" in comparison) {
    return `${title}\nNot compared: ${sanitizeLine(comparison.missing.message)}`;
  }
  const { from, to, operator_bytes: operator, agent_bytes: agent } = comparison.value;
  const range = `${sanitizeLine(from)} to ${sanitizeLine(to)} (UTC), all SIMs of the asset`;
  if (operator === 0 && shown.every(isUncounted)) {
    const own = `The agent counted ${formatBytes(agent)} of its own.`;
    return `${title}\n${range}\nNo usage of its SIMs is known: no operator was asked, and none was imported. ${own}`;
  }
  const lines = [title, range, "", renderTable(COLUMNS, rowsOf(comparison.value), theme, width)];
  const age = now - comparison.value.agent_as_of;
  if (age > MAX_CURRENT_AGE_S) {
    lines.push(theme.dim(`What the device counted is as it said ${momentText(comparison.value.agent_as_of, now)}.`));
  }
  const warning = warningOf(comparison.value);
  if (warning !== undefined) {
    lines.push("", ...wrap(`Warning: ${warning}`, width ?? Infinity).map((line) => theme.yellow(line)));
  }
  return lines.join("\n");
}

const COLUMNS: Column<Row>[] = [
  { header: "", cell: ({ what }) => what },
  { header: "BYTES", cell: ({ bytes }) => formatBytes(bytes), align: "right" },
  { header: "", cell: ({ note }) => note, canShrink: true },
];

function rowsOf(comparison: UsageComparison): Row[] {
  const {
    operator_bytes: operator,
    agent_bytes: agent,
    overhead_estimate_bytes: overhead,
    other_bytes: other,
  } = comparison;
  const carried = Object.values(comparison.interfaces).reduce((sum, bytes) => sum + bytes, 0);
  return [
    { what: "Operator", bytes: operator, note: "what is billed: all traffic over the SIMs" },
    { what: "- Agent", bytes: agent, note: listed(comparison.agent_by_purpose) },
    { what: "- Headers", bytes: overhead, note: "estimate of TCP and IP of the agent's own traffic" },
    { what: "- Rest", bytes: other, note: restNote(comparison) },
    { what: "Device", bytes: carried, note: `the kernel's count: ${listed(comparison.interfaces)}` },
  ];
}

function restNote({
  operator_bytes: operator,
  agent_bytes: agent,
  overhead_estimate_bytes: overhead,
}: UsageComparison) {
  return operator < agent + overhead
    ? "none: agent and headers are more than the operator counted"
    : "apps, the system, and what the operator rounds up";
}

function warningOf({ excess, interfaces }: UsageComparison): string | undefined {
  if (!excess) return undefined;
  const more = `the agent counted ${formatBytes(excess.bytes)} more than the operator`;
  const used = Object.values(interfaces).filter((bytes) => bytes > 0).length;
  const way =
    used > 1
      ? "The device has more than one network: the agent's traffic may have gone over another than the SIM."
      : "Check that the device has this SIM and no other network.";
  return excess.is_final
    ? `${more}, on days that are final. ${way}`
    : `${more}. Operators count late: this may be usage that is still to come. ${way}`;
}

/** The largest first: `pulls 100.0 MB, control 2.00 MB`. */
function listed(bytesByName: Readonly<Record<string, number>>): string {
  const entries = Object.entries(bytesByName)
    .filter(([, bytes]) => bytes > 0)
    .toSorted(([, one], [, other]) => other - one);
  return entries.map(([name, bytes]) => `${sanitizeLine(name)} ${formatBytes(bytes)}`).join(", ") || "nothing";
}

function isUncounted({ sim, usage }: SimDetails): boolean {
  return sim.checked_at === null && !("value" in usage && usage.value.as_of !== undefined);
}
