/** Median of the values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[middle]];
  return (low + high) / 2;
}

/** Duration of the work in milliseconds. */
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
 * Measures two functions alternately (A B B A A B …), so that other load affects both equally. The first round is a
 * warm-up. Each function returns its own measurement.
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
