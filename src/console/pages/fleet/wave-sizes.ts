import { countOf } from "../../../protocol/share.ts";
import type { RolloutWaveStrategy } from "../../api/types.ts";

interface WaveSize {
  readonly targets: number;
  /** Whether it may have fewer: its selector leaves some out. */
  readonly isUpperBound: boolean;
}

/** Returns how many assets each wave has when a rollout starts now, with the last wave, which has all others. */
export function waveSizes(waves: readonly RolloutWaveStrategy[], members: number): readonly WaveSize[] {
  let before = 0;
  const sizes = waves.map(({ limit, selector }): WaveSize => {
    const until = Math.max(before, Math.min(members, countOf(limit, members)));
    const targets = until - before;
    before = until;
    return { targets, isUpperBound: selector !== undefined };
  });
  const isRestricted = sizes.some(({ isUpperBound }) => isUpperBound);
  return [...sizes, { targets: isRestricted ? members : members - before, isUpperBound: isRestricted }];
}
