import type { Allowance } from "../data-plans.ts";

/** Columns of `sims d` for `toAllowance`. */
export const ALLOWANCE_COLUMNS = "d.manual_allowance_bytes AS manual, d.allowance_bytes AS told";

export interface AllowanceRow {
  readonly manual: number | null;
  readonly told: number | null;
}

/** Returns what was set, or else what the operator says, if it says anything. */
export function toAllowance({ manual, told }: AllowanceRow): Allowance | undefined {
  if (manual !== null) return { bytes: manual, source: "manual" };
  return told !== null && told > 0 ? { bytes: told, source: "operator" } : undefined;
}
