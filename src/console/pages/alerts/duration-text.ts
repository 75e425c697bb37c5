/** Units of durations, the largest first: seconds of one, and its name. */
export const UNITS = [
  { value: "86400", label: "days" },
  { value: "3600", label: "hours" },
  { value: "60", label: "minutes" },
  { value: "1", label: "seconds" },
] as const;
const MINUTES = "60";

/** A duration as a person types it. */
export interface DurationText {
  readonly number: string;
  /** Seconds of one. */
  readonly unit: string;
}

/** Returns the duration in the largest unit of which it is a whole number; nothing typed for `undefined`. */
export function durationText(seconds: number | undefined): DurationText {
  if (seconds === undefined) return { number: "", unit: MINUTES };
  const unit = seconds === 0 ? MINUTES : (UNITS.find(({ value }) => seconds % Number(value) === 0)?.value ?? "1");
  return { number: String(seconds / Number(unit)), unit };
}

/** Returns the seconds; `undefined` if nothing is typed. */
export function secondsOf({ number, unit }: DurationText): number | undefined {
  return number.trim() === "" ? undefined : Math.round(Number(number) * Number(unit));
}
