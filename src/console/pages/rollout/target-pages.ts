import type { TargetCounts, TargetState } from "../../../protocol/fleets/rollout.ts";
import type { RolloutTarget, RolloutTargetList } from "../../../protocol/api-types.ts";
import { TARGET_STATE_NAMES } from "../../parts/target-states.ts";

/** Where a page of targets begins: in the targets of one state, after a cursor. */
export interface PageStart {
  /** `undefined`: the first state that has targets. */
  readonly state: TargetState | undefined;
  readonly cursor: string | undefined;
}

export interface TargetPage {
  readonly targets: readonly RolloutTarget[];
  /** Where the next page begins; `undefined` on the last one. */
  readonly next: PageStart | undefined;
}

export const FIRST_PAGE: PageStart = { state: undefined, cursor: undefined };

/** A page has at least so many targets, unless it is the last one. */
const MIN_PAGE_SIZE = 50;

type ReadTargets = (state: TargetState, cursor: string | undefined) => Promise<RolloutTargetList>;

/**
 * Reads a page of targets, those in the states that matter most first. The service lists the targets in the order of their UUIDs, so
 * that each state is read by itself; states without targets are left out.
 */
export async function readTargetPage(
  counts: TargetCounts,
  only: TargetState | undefined,
  start: PageStart,
  read: ReadTargets,
): Promise<TargetPage> {
  const targets: RolloutTarget[] = [];
  let state = start.state ?? nextState(counts, only, undefined);
  let { cursor } = start;
  while (state !== undefined && targets.length < MIN_PAGE_SIZE) {
    const list = await read(state, cursor);
    targets.push(...list.targets);
    cursor = list.next_cursor ?? undefined;
    if (cursor === undefined) state = nextState(counts, only, state);
  }
  return { targets, next: state === undefined ? undefined : { state, cursor } };
}

/** Returns the targets of all pages. One that has moved on between two requests is listed where it was seen first. */
export function flatten(pages: readonly TargetPage[]): readonly RolloutTarget[] {
  const byAsset = new Map<string, RolloutTarget>();
  for (const target of pages.flatMap((page) => page.targets)) {
    if (!byAsset.has(target.asset_id)) byAsset.set(target.asset_id, target);
  }
  return [...byAsset.values()];
}

function nextState(
  counts: TargetCounts,
  only: TargetState | undefined,
  after: TargetState | undefined,
): TargetState | undefined {
  if (only !== undefined) return after === undefined ? only : undefined;
  const from = after === undefined ? 0 : TARGET_STATE_NAMES.indexOf(after) + 1;
  return TARGET_STATE_NAMES.slice(from).find((state) => (counts[state] ?? 0) > 0);
}
