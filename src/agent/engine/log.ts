/** One line of a container's output. */
export interface LogLine {
  /** With a terminal everything comes on `stdout`. */
  readonly stream: "stdout" | "stderr";
  /** When the engine took it, RFC 3339 in UTC, to the nanosecond. Empty where it does not say. */
  readonly timestamp: string;
  readonly text: string;
  /** Whether the line was longer and its end is left out. */
  readonly truncated: boolean;
}

export interface LogRequest {
  /** How many of the last lines come first. */
  readonly tail: number;
  /** Nanoseconds since the Unix epoch: only lines that are not older. */
  readonly since?: bigint | undefined;
  /** Goes on with what is written until the container stops. */
  readonly follow: boolean;
}

/** Longest line that is read, in characters; longer ones are cut. */
export const MAX_LINE_LENGTH = 8_192;
