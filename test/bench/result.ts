/** One line of the table. */
export interface Row {
  readonly what: string;
  /** With its unit. */
  readonly value: string;
  /** What it is compared with, with the unit. */
  readonly reference?: string;
  /** ours/reference, smaller is better unless the target says otherwise. */
  readonly ratio?: number;
  readonly target?: Target;
}

export interface Target {
  readonly text: string;
  readonly met: boolean;
}

/** What a benchmark found: lines to read, and the numbers behind them to compute with. */
export interface BenchResult {
  readonly rows: readonly Row[];
  readonly data: Readonly<Record<string, unknown>>;
}

/** One benchmark. `run` cleans up whatever it makes. */
export interface Bench {
  readonly name: string;
  run(options: BenchOptions): Promise<BenchResult>;
}

export interface BenchOptions {
  /** Fewer rounds and shorter windows: to see that everything works, not to quote. */
  readonly quick: boolean;
}

/** A bound, and whether the value keeps it. */
export function atMost(bound: number, unit: string, value: number): Target {
  return { text: `at most ${bound} ${unit}`, met: value <= bound };
}

export const inMilliseconds = (value: number): string => `${value.toFixed(0)} ms`;
export const inMegabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
