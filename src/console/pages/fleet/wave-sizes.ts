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
  const sizes = waves.map(({ limit, selector, assets = [] }): WaveSize => {
    // Without a limit it is what it names, or one asset of each value of its tag, of which the service knows the number.
    const until = limit === undefined ? before + (assets.length || members) : countOf(limit, members);
    const targets = Math.max(before, Math.min(members, until)) - before;
    if (limit !== undefined || assets.length > 0) before += targets;
    return { targets, isUpperBound: selector !== undefined || (limit === undefined && assets.length === 0) };
  });
  const isRestricted = sizes.some(({ isUpperBound }) => isUpperBound);
  return [...sizes, { targets: isRestricted ? members : members - before, isUpperBound: isRestricted }];
}
