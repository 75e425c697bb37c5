import { expect, test } from "vitest";
import { applySchema } from "../../../../../src/protocol/apps/apply.ts";
import { goalOf } from "../../../../../src/control-plane/core/fleets/fleet.ts";
import {
  judgeMember,
  type Judgement,
  type MemberGoal,
} from "../../../../../src/control-plane/core/fleets/judge-member.ts";
import { SeededRandom } from "../../../../support/chaos/seeded-random.ts";
import { MEMBER_FLEET, memberImage, ModelMember } from "../../../../support/fleets/model-member.ts";

/** Number of random histories; `FLEET_SEED` is that of the first. */
const HISTORIES = Number(process.env["FLEET_HISTORIES"] ?? 200);
const FIRST_SEED = Number(process.env["FLEET_SEED"] ?? 1);
const STEPS = 60;

const goals = new Map<number, MemberGoal>();

function findGoal(revision: number): MemberGoal {
  const known = goals.get(revision);
  if (known) return known;
  const apps = ["web", "db"].map((name) => ({
    app: { name, image: memberImage(name, revision), environments: [{ key: "SITE", value: "${SITE}" }] },
  }));
  const goal = goalOf(MEMBER_FLEET, revision, applySchema.parse({ project: MEMBER_FLEET, apps }));
  goals.set(revision, { goal, variables: ["SITE"] });
  return { goal, variables: ["SITE"] };
}

/** Plays a history and returns how often each state was judged. Throws where the judgement is not the model's. */
function play(seed: number): ReadonlyMap<string, number> {
  const member = new ModelMember(new SeededRandom(seed));
  const seen = new Map<string, number>();
  let before: Judgement | undefined;
  for (let step = 0; step < STEPS; step++) {
    member.step();
    const facts = member.facts();
    const fleet = { name: MEMBER_FLEET, stableRevision: member.stable };
    const judged = judgeMember({ fleet, goalOf: findGoal }, facts, before, member.nowMs);
    const state = member.judge();
    if (judged.state !== state)
      throw new Error(
        `${judged.state}, and ${state} by the model, after ${member.story.join("; ")}: ${JSON.stringify(facts)}`,
      );
    if (judged.revision !== member.facts().revision)
      throw new Error(`revision ${judged.revision}: ${member.story.join("; ")}`);
    if ((judged.waitsFor !== undefined) !== (state === "waiting")) throw new Error("what it waits for does not fit");
    // What stays is no other judgement, and so is not written.
    const again = judgeMember({ fleet, goalOf: findGoal }, member.facts(), judged, member.nowMs + 5_000);
    expect(again).toEqual(judged);
    if (before?.state === state && judged.sinceMs !== before.sinceMs) throw new Error("a state that stays began anew");
    seen.set(state, (seen.get(state) ?? 0) + 1);
    before = judged;
  }
  return seen;
}

test(
  `${HISTORIES} random histories of a member are judged as an independent model does`,
  { timeout: 300_000 + HISTORIES * 100 },
  () => {
    const broken: string[] = [];
    const states = new Map<string, number>();
    for (let seed = FIRST_SEED; seed < FIRST_SEED + HISTORIES && broken.length < 3; seed++) {
      try {
        for (const [state, count] of play(seed)) states.set(state, (states.get(state) ?? 0) + count);
      } catch (error) {
        broken.push(`FLEET_SEED=${seed}: ${String(error)}`);
      }
    }
    expect(broken).toEqual([]);
    if (HISTORIES < 100) return;
    const all = [
      "current",
      "updating",
      "waiting",
      "outdated",
      "drifted",
      "missing",
      "stopped_by_hand",
      "held",
      "conflict",
    ];
    // Histories that do not reach a state say nothing about it.
    for (const state of all) expect.soft(states.get(state) ?? 0, state).toBeGreaterThan(HISTORIES / 50);
  },
);
