import type { SimEntry } from "../../../protocol/api-types.ts";

export type SimType = SimEntry["type"];

export const SIM_NAMES: Readonly<Record<SimType, string>> = { supersim: "Super SIM", prosim: "PRO SIM" };
export const SIM_TYPES = Object.keys(SIM_NAMES) as readonly SimType[];

/** Words of operators that say no more than the status. */
const SAME_WORDS: Readonly<Record<SimEntry["status"], readonly string[]>> = {
  active: ["active", "activated"],
  inactive: ["inactive", "suspended"],
};

/** The operator's own word for the status; `undefined` where it says no more, or was not asked. */
export function operatorWord({
  status,
  operator_status: said,
}: Pick<SimEntry, "status" | "operator_status">): string | undefined {
  return said === undefined || SAME_WORDS[status].includes(said.toLowerCase()) ? undefined : said;
}

/** What a pending change asks for: `set it to inactive and move it to default_10gb`; empty where only the operator knows. */
export function pendingText({ status, network_group: group }: NonNullable<SimEntry["pending"]>): string {
  const parts = [
    ...(status === undefined ? [] : [`set it to ${status}`]),
    ...(group === undefined ? [] : [`move it to ${group}`]),
  ];
  return parts.join(" and ");
}
