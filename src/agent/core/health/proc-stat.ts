/** Time of all processors since the machine started, in ticks. */
export interface CpuTimes {
  readonly busy: number;
  readonly total: number;
}

/** Reads the first line of `/proc/stat`; `undefined` if it is another text. */
export function parseCpuTimes(text: string): CpuTimes | undefined {
  const numbers = /^cpu\s+([\d ]+)/.exec(text)?.[1]?.trim().split(/ +/).map(Number) ?? [];
  if (numbers.length < 4) return undefined;
  // The time of guests, behind the eighth, is in that of users.
  const total = numbers.slice(0, 8).reduce((sum, each) => sum + each, 0);
  const [, , , idle = 0, ioWait = 0] = numbers;
  return { busy: total - idle - ioWait, total };
}

/** Returns the share of busy time between two readings, in percent; `undefined` without time between them. */
export function busyPercent(before: CpuTimes, after: CpuTimes): number | undefined {
  return percentOf(after.busy - before.busy, after.total - before.total);
}

/** Returns the use of memory and of swap by `/proc/meminfo`, in percent. Without swap there is no use of it. */
export function parseMemory(text: string): { readonly memory?: number; readonly swap?: number } {
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1]);
  const memory = percentOf(field("MemTotal") - field("MemAvailable"), field("MemTotal"));
  const swap = percentOf(field("SwapTotal") - field("SwapFree"), field("SwapTotal"));
  return { ...(memory !== undefined && { memory }), ...(swap !== undefined && { swap }) };
}

/** Returns a share in percent, from 0 to 100; `undefined` of nothing, or of what is no number. */
export function percentOf(part: number, whole: number): number | undefined {
  const percent = (part / whole) * 100;
  return whole > 0 && Number.isFinite(percent) ? Math.min(100, Math.max(0, percent)) : undefined;
}
