/** A row of the result table. */
export interface Row {
  readonly what: string;
  /** Including the unit. */
  readonly value: string;
  /** The compared value, including the unit. */
  readonly reference?: string;
  /** ours/reference. Smaller is better unless the target says otherwise. */
  readonly ratio?: number;
  readonly target?: Target;
}

export interface Target {
  readonly text: string;
  readonly met: boolean;
}

/** Result of a benchmark: table rows and the raw data. */
export interface BenchResult {
  readonly rows: readonly Row[];
  readonly data: Readonly<Record<string, unknown>>;
}

/** A benchmark. `run` removes everything it creates. */
export interface Bench {
  readonly name: string;
  /** Whether it is left out unless it is named on the command line. */
  readonly isOnRequest?: boolean;
  run(options: BenchOptions): Promise<BenchResult>;
}

export interface BenchOptions {
  /** Fewer rounds and shorter windows: a functional check whose numbers are not meaningful. */
  readonly quick: boolean;
  /** The `dist/` of another checkout, to compare with. */
  readonly baseline?: string | undefined;
  /** Duration of random deployments. */
  readonly minutes?: number | undefined;
}

/** Returns an upper bound and whether the value is within it. */
export function atMost(bound: number, unit: string, value: number): Target {
  return { text: `at most ${bound} ${unit}`, met: value <= bound };
}

export const inMilliseconds = (value: number): string => `${value.toFixed(0)} ms`;
export const inMegabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
