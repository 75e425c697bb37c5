import type { Allowance } from "../../../protocol/api-types.ts";
import { formatUtcTime } from "../../parts/durations.ts";
import { formatBytes } from "../../parts/format-bytes.ts";

/** An allowance with what is known of its use. */
export type UsedAllowance = Pick<Allowance, "bytes" | "used_bytes" | "forecast_bytes" | "exceeded_at">;

/** `ok`: it lasts. `short`: it will be used up before the month ends. `spent`: it is used up. */
export type PlanState = "ok" | "short" | "spent";

export function planState({ bytes, used_bytes: used, forecast_bytes: forecast }: UsedAllowance): PlanState {
  if (used >= bytes) return "spent";
  return forecast >= bytes ? "short" : "ok";
}

/** How much is used: `405 MB of 1.0 GB used this month, 41 %`. */
export function usedText({ bytes, used_bytes: used }: UsedAllowance): string {
  // Neither nothing nor all of it, unless it is exactly that.
  const percent = used >= bytes ? Math.floor((100 * used) / bytes) : Math.min(99, Math.ceil((100 * used) / bytes));
  return `${formatBytes(used)} of ${formatBytes(bytes)} used this month, ${percent.toLocaleString("en")}\u00A0%`;
}

/** What is expected by the end of the month, and when that is too much. */
export function forecastText(allowance: UsedAllowance): string {
  const { forecast_bytes: forecast, exceeded_at: at } = allowance;
  const state = planState(allowance);
  if (state === "spent") return at === undefined ? "It is used up." : `It was used up on ${dayOf(at)}.`;
  const expected = `At the rate of the last seven days it will be ${formatBytes(forecast)} by the end of the month`;
  if (state === "ok") return `${expected}: it lasts.`;
  return at === undefined ? `${expected}: too much.` : `${expected}: used up on ${formatUtcTime(at)}.`;
}

function dayOf(seconds: number): string {
  return formatUtcTime(seconds).split(",")[0] ?? "";
}

/** Parts of a bar in percent of its width: the use, what is expected beyond it, and where the allowance ends. */
export function barParts({ bytes, used_bytes: used, forecast_bytes: forecast }: UsedAllowance) {
  const whole = Math.max(bytes, used, forecast);
  const share = (value: number): number => (100 * value) / whole;
  return { used: share(used), expected: share(Math.max(0, forecast - used)), limit: share(bytes) };
}

/** Units to type an allowance in, with their bytes. */
export const UNITS = { MB: 1_000_000, GB: 1_000_000_000 } as const;
export type Unit = keyof typeof UNITS;

/** Reads a number that was typed, with a point or a comma. Returns whole bytes; `undefined` if it is not an allowance. */
export function readAllowance(text: string, unit: Unit): number | undefined {
  const typed = text.trim().replace(",", ".");
  if (!/^\d{1,12}(?:\.\d{1,9})?$/.test(typed)) return undefined;
  const bytes = Math.round(Number(typed) * UNITS[unit]);
  return bytes >= 1 && Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** An allowance as it would be typed. */
export function toTyped(bytes: number): { readonly text: string; readonly unit: Unit } {
  const unit = bytes >= UNITS.GB ? "GB" : "MB";
  return { text: String(bytes / UNITS[unit]), unit };
}
