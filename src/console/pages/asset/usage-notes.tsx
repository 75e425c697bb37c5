import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import { formatBytes } from "../../parts/format-bytes.ts";
import { Note } from "../../parts/note.tsx";
import type { UsageDifference } from "./usage-difference.ts";
import { type UsageDay, utcDay } from "./usage-days.ts";

interface Props {
  readonly difference: UsageDifference;
}

/** Days that are named; of more it says how many. */
const MAX_NAMED_DAYS = 5;

/** A warning where the agent's own count is the larger one. */
export function ExceedingNote({ difference: { exceeding } }: Props): ReactNode {
  if (exceeding.length === 0) return null;
  return (
    <Note
      kind="warn"
      isAnnounced={false}
      title={`The agent alone counted more than the operator on ${countOf(exceeding.length)}.`}
    >
      {daysText(exceeding)}. The operator's count of {exceeding.length === 1 ? "that day" : "those days"} is final.
      Either the device had another network, such as Ethernet or Wi-Fi, or the operator did not count everything.
      Compare it with the bill.
    </Note>
  );
}

/** Why both counts differ, in words. */
export function DifferenceText({ difference }: Props): ReactNode {
  const { days, exceedingYoung } = difference;
  if (days === 0) return null;
  return (
    <>
      <Text size="sm">{differenceText(difference)}</Text>
      {exceedingYoung > 0 && (
        <Text size="sm">
          On {countOf(exceedingYoung)} the agent is ahead of the operator, whose count is not final yet.
        </Text>
      )}
    </>
  );
}

/** Where the difference comes from. */
function differenceText({ days, sims, agent, others }: UsageDifference): string {
  const counts = `On the ${countOf(days)} that both counted, the operator counted ${formatBytes(sims)} and the agent ${formatBytes(agent)}`;
  if (sims <= agent) return `${counts}. The agent counts its own traffic only, on every network of the device.`;
  const known = others === undefined || others === 0 ? "" : ` (${formatBytes(others)} by the device's interfaces)`;
  return (
    `${counts}: ${formatBytes(sims - agent)} more. The agent counts its own traffic only. The rest is other traffic of the ` +
    `device, such as that of its apps${known}, and the overhead of the transport: packet headers, packets that are sent ` +
    "again, and rounding by the operator."
  );
}

function daysText(days: readonly UsageDay[]): string {
  const named = days.slice(-MAX_NAMED_DAYS).toReversed();
  const text = named.map(
    ({ at, sims, agent }) => `${utcDay(at)}: ${formatBytes(agent ?? 0)} against ${formatBytes(sims ?? 0)}`,
  );
  const more = days.length - named.length;
  return text.join("; ") + (more > 0 ? `; and ${more} more` : "");
}

function countOf(days: number): string {
  return days === 1 ? "1 day" : `${days} days`;
}
