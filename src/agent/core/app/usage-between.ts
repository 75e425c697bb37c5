/** What a container uses. Counters start with the container. */
export interface ContainerUsage {
  /** Processor time of all processors, in nanoseconds. */
  readonly cpuNs: number;
  readonly memoryBytes: number;
  /** Its memory limit; the machine's memory if none is set. */
  readonly memoryLimitBytes: number | undefined;
  /** `undefined` if it uses the host's network. */
  readonly receivedBytes: number | undefined;
  readonly sentBytes: number | undefined;
  /** Read from and written to block devices; `undefined` if the kernel does not count it. */
  readonly readBytes: number | undefined;
  readonly writtenBytes: number | undefined;
  /** Number of processes and threads; `undefined` if the kernel does not count them. */
  readonly processes: number | undefined;
}

/** What an app's container uses, as measured at one time. Counters start with the container's run. */
export interface UsageSample extends ContainerUsage {
  readonly atMs: number;
  /** Changes with each run of the app. */
  readonly run: string;
}

/** What one app uses, with rates. `null`: not known. */
export interface UsageBetween {
  readonly cpu_percent: number | null;
  readonly memory_bytes: number | null;
  readonly memory_limit_bytes: number | null;
  readonly network: {
    readonly received_bytes: number;
    readonly sent_bytes: number;
    readonly received_bytes_per_s: number | null;
    readonly sent_bytes_per_s: number | null;
  } | null;
  readonly disk: {
    readonly read_bytes: number;
    readonly written_bytes: number;
    readonly read_bytes_per_s: number | null;
    readonly written_bytes_per_s: number | null;
  } | null;
  readonly processes: number | null;
}

const UNKNOWN: UsageBetween = {
  cpu_percent: null,
  memory_bytes: null,
  memory_limit_bytes: null,
  network: null,
  disk: null,
  processes: null,
};

/**
 * Computes what an app uses from two samples. There are no rates without an earlier sample of the same run.
 *
 * @param now `undefined` if the app does not run or the engine does not count
 */
export function usageBetween(before: UsageSample | undefined, now: UsageSample | undefined): UsageBetween {
  if (!now) return UNKNOWN;
  const earlier = before?.run === now.run && now.atMs > before.atMs ? before : undefined;
  const seconds = earlier ? (now.atMs - earlier.atMs) / 1000 : 0;
  const rate = (then: number | undefined, current: number): number | null =>
    then === undefined ? null : Math.max(0, current - then) / seconds;
  const wholeRate = (then: number | undefined, current: number): number | null => {
    const exact = rate(then, current);
    return exact === null ? null : Math.round(exact);
  };
  const cpu = rate(earlier?.cpuNs, now.cpuNs);
  const { receivedBytes: received, sentBytes: sent, readBytes: read, writtenBytes: written } = now;
  return {
    cpu_percent: cpu === null ? null : Math.round(cpu / 1e6) / 10,
    memory_bytes: Math.round(now.memoryBytes),
    memory_limit_bytes: toNullable(now.memoryLimitBytes),
    network:
      received === undefined || sent === undefined
        ? null
        : {
            received_bytes: received,
            sent_bytes: sent,
            received_bytes_per_s: wholeRate(earlier?.receivedBytes, received),
            sent_bytes_per_s: wholeRate(earlier?.sentBytes, sent),
          },
    disk:
      read === undefined || written === undefined
        ? null
        : {
            read_bytes: read,
            written_bytes: written,
            read_bytes_per_s: wholeRate(earlier?.readBytes, read),
            written_bytes_per_s: wholeRate(earlier?.writtenBytes, written),
          },
    processes: toNullable(now.processes),
  };
}

/** Engines write an unlimited memory as a number that JSON does not keep exactly. */
function toNullable(value: number | undefined): number | null {
  return value !== undefined && Number.isSafeInteger(value) ? value : null;
}
