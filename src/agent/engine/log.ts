/** One line of a container's output. */
export interface LogLine {
  /** Always `stdout` for a container with a terminal. */
  readonly stream: "stdout" | "stderr";
  /** Time at which the engine read it, RFC 3339 in UTC with nanoseconds; empty if unknown. */
  readonly time: string;
  readonly text: string;
  /** Whether the end of the line was cut off. */
  readonly truncated: boolean;
}

export interface LogRequest {
  /** Number of earlier lines to begin with; `Infinity` for all. */
  readonly tail: number;
  /** Time of the oldest line, in nanoseconds since the Unix epoch. */
  readonly since?: bigint | undefined;
  /** Lines of this time and later ones are left out. Counted by `tail` all the same. */
  readonly until?: bigint | undefined;
  /** Continues with new lines until the container stops. */
  readonly follow: boolean;
}

/** Maximum length of a line, in characters; longer lines are cut. */
export const MAX_LINE_LENGTH = 8_192;
