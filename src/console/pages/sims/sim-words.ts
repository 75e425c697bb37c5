import type { SimEntry } from "../../api/types.ts";

export type SimType = SimEntry["type"];

export const SIM_NAMES: Readonly<Record<SimType, string>> = { supersim: "Super SIM", prosim: "PRO SIM" };
export const SIM_TYPES = Object.keys(SIM_NAMES) as readonly SimType[];

/** The operator's own word for the status; `undefined` where it is the same word, or the operator was never asked. */
export function operatorWord({
  status,
  operator_status: said,
}: Pick<SimEntry, "status" | "operator_status">): string | undefined {
  return said === undefined || said.toLowerCase() === status ? undefined : said;
}

/** What a pending change asks for: `to set it to inactive and to move it to default_10gb`. */
export function pendingText({ status, network_group: group }: NonNullable<SimEntry["pending"]>): string {
  const parts = [
    ...(status === undefined ? [] : [`to set it to ${status}`]),
    ...(group === undefined ? [] : [`to move it to ${group}`]),
  ];
  return parts.join(" and ");
}
