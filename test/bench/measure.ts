/** Middle of the values; the mean of the two middle ones where their number is even. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[middle]];
  return (low + high) / 2;
}

/** Milliseconds the work takes. */
export async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export interface Paired {
  readonly ours: readonly number[];
  readonly reference: readonly number[];
  /** Median of the ratios ours/reference within each round. */
  readonly ratio: number;
}

/**
 * Measures two things in turn, so that whatever else the machine does meets both alike: A B B A A B and so on. The
 * first round warms up and does not count. Each answers its own measurement.
 */
export async function paired(
  rounds: number,
  ours: (round: number) => Promise<number>,
  reference: (round: number) => Promise<number>,
): Promise<Paired> {
  const results: { ours: number; reference: number }[] = [];
  for (let round = 0; round <= rounds; round++) {
    const oursFirst = round % 2 === 0;
    const before = oursFirst ? await ours(round) : Number.NaN;
    const referenceResult = await reference(round);
    results.push({ ours: oursFirst ? before : await ours(round), reference: referenceResult });
  }
  const counted = results.slice(1);
  return {
    ours: counted.map((result) => result.ours),
    reference: counted.map((result) => result.reference),
    ratio: median(counted.map((result) => result.ours / result.reference)),
  };
}
