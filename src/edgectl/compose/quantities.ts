import type { Value } from "../documents/value.ts";

const SECONDS: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, ns: 1e-9 };
const SIZES = "bkmgt";

/** Reads a duration such as `1m30s`, in seconds. */
export function readDuration(value: Value): number | undefined {
  const text = value.text();
  if (text === undefined) return undefined;
  if (text === "0") return 0;
  if (!/^(?:\d{1,9}(?:\.\d{1,9})?(?:h|ms|m|us|µs|ns|s))+$/.test(text)) {
    return value.refuse("must be a duration with its unit, such as 30s or 1m30s.");
  }
  const parts = [...text.matchAll(/([\d.]+)(h|ms|m|us|µs|ns|s)/g)];
  const seconds = parts.reduce((sum, [, number, unit = ""]) => sum + Number(number) * (SECONDS[unit] ?? 0), 0);
  return Math.round(seconds * 1e9) / 1e9;
}

/** Reads a whole number of seconds. */
export function readWholeSeconds(value: Value): number | undefined {
  const seconds = readDuration(value);
  if (seconds === undefined || Number.isInteger(seconds)) return seconds;
  return value.refuse("must be whole seconds.");
}

/** Reads a size such as `512m` or `1gb`, in bytes. All units are binary, as in compose. */
export function readSize(value: Value): number | undefined {
  const text = value.text();
  if (text === undefined) return undefined;
  const bytes = sizeOf(text);
  return bytes ?? value.refuse("must be a size, such as 512m or 1g.");
}

/** A size in bytes; `undefined` if it is none. */
export function sizeOf(text: string): number | undefined {
  const match = /^(\d{1,15}(?:\.\d{1,6})?) ?(?:([bkmgt])(?:i?b)?)?$/i.exec(text.trim());
  if (!match) return undefined;
  const bytes = Math.floor(Number(match[1]) * 1024 ** SIZES.indexOf((match[2] ?? "b").toLowerCase()));
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
