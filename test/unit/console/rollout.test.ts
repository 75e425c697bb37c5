import { describe, expect, it } from "vitest";
import type { RolloutPriceEvent, RolloutTarget } from "../../../src/protocol/api-types.ts";
import { parseTag } from "../../../src/console/pages/asset/parse-tag.ts";
import { describeStrategy, waveSizes } from "../../../src/console/pages/fleet/strategy-words.ts";
import { addPriceEvent, NO_PRICE } from "../../../src/console/pages/fleet/price-stream.ts";
import { formatImage } from "../../../src/console/pages/fleet/short-image.ts";
import { commandsFor } from "../../../src/console/pages/rollout/commands.ts";
import { FIRST_PAGE, flatten, readTargetPage } from "../../../src/console/pages/rollout/target-pages.ts";
import { describeRollout, mayChange, type ShownRollout } from "../../../src/console/pages/rollout/verdict.ts";
import { rolloutStrategySchema } from "../../../src/protocol/fleets/rollout-strategy.ts";
import type { TargetState } from "../../../src/protocol/fleets/rollout.ts";

const rollout = (fields: Partial<ShownRollout>): ShownRollout => ({
  state: "running",
  revision: 3,
  previous_revision: 2,
  targets: 60,
  wave: 1,
  counts: {},
  waves: [
    { wave: 1, targets: 20, counts: {}, advance: "manual", soak_s: 60 },
    { wave: 2, targets: 40, counts: {}, advance: "auto", soak_s: 60 },
  ],
  ...fields,
});

const target = (id: string, state: TargetState): RolloutTarget => ({
  asset_id: id,
  asset_name: id,
  serial_number: id,
  wave: 1,
  state,
  direction: "forward",
  attempt: 1,
  since: 1_790_000_000,
  attempts: [],
});

const priced = (id: string, bytes: number): RolloutPriceEvent => ({
  status: "Running",
  message: "",
  seq: 1,
  timestamp: 1,
  asset: { asset_id: id, asset_name: id, serial_number: id, wave: 1, download_bytes: bytes },
});

const names = (fields: Partial<ShownRollout>) => commandsFor(rollout(fields)).map(({ name }) => name);

describe("the commands for a rollout", () => {
  it("say what they touch in numbers", () => {
    const counts = { succeeded: 38, failed: 3, pending: 19 };
    const paused = commandsFor(rollout({ state: "paused", counts }));
    const effectOf = (name: string) => paused.find((command) => command.name === name)?.effect;
    expect(effectOf("rollback")).toBe("Going back touches 41 assets: 3 failed, 38 succeeded. They get revision 2.");
    expect(effectOf("resume")).toBe("It goes on with 19 assets. The 3 that failed so far do not stop it again.");
    expect(effectOf("cancel")).toContain("19 assets left get nothing of it");
  });

  it("say where going back removes the apps, and that waiting assets may go back as well", () => {
    const counts = { succeeded: 1, waiting: 2 };
    const back = commandsFor(rollout({ counts, previous_revision: null })).find(({ name }) => name === "rollback");
    expect(back?.effect).toBe(
      "Going back touches 1 asset: 1 succeeded. Of the 2 waiting, those that were attempted go back as well. " +
        "The fleet's apps are removed from them.",
    );
  });

  it("follow from its state", () => {
    expect(names({ state: "draft" })).toEqual(["resume", "cancel"]);
    expect(names({ state: "awaiting_approval" })).toEqual(["approve", "cancel"]);
    expect(names({ state: "running" })).toEqual(["advance", "pause", "rollback", "cancel"]);
    expect(names({ state: "running", wave: 2 })).toEqual(["pause", "rollback", "cancel"]);
    expect(names({ state: "paused", wave: 2 })).toEqual(["rollback", "resume", "cancel"]);
    for (const state of ["succeeded", "failed", "rolling_back", "rolled_back", "cancelled", "superseded"] as const) {
      expect(names({ state })).toEqual([]);
    }
  });
});

describe("a tag that is typed", () => {
  it("has a key and a value, which may be empty or have '='", () => {
    expect(parseTag(" role = kiosk ")).toEqual({ role: "kiosk" });
    expect(parseTag("beta")).toEqual({ beta: "" });
    expect(parseTag("a=b=c")).toEqual({ a: "b=c" });
  });
});

describe("the words for a rollout", () => {
  it("say at a stop how many failed, what happens now, and what to do", () => {
    const stopped = rollout({ state: "paused", counts: { failed: 2, lost: 1, soaking: 4, pending: 30 } });
    expect(describeRollout(stopped)).toEqual({
      kind: "bad",
      title: "Stopped: 3 assets failed.",
      now: "Nothing begins on the 30 assets left. Deployments under way on 4 assets end first.",
      advice:
        "Read below why they failed. Roll back to go to revision 2 where it was attempted, or resume: failures so far do not " +
        "stop it again.",
    });
  });

  it("say when the next wave waits for somebody, and only then", () => {
    const [first, second] = rollout({}).waves;
    const withFirst = (counts: ShownRollout["counts"]) => rollout({ waves: [{ ...first!, counts }, second!] });
    expect(describeRollout(withFirst({ succeeded: 20 })).title).toContain("Wave 2 waits until a person lets it begin");
    expect(describeRollout(withFirst({ succeeded: 19, soaking: 1 })).title).toBe("Wave 1 of 2 is under way.");
  });
});

describe("a rollout that is over", () => {
  it("is looked at again while a deployment of it is under way", () => {
    expect(mayChange({ state: "cancelled", counts: { deploying: 1, succeeded: 2 } })).toBe(true);
    expect(mayChange({ state: "rolled_back", counts: { rolled_back: 3, skipped: 5 } })).toBe(false);
    expect(mayChange({ state: "running", counts: { succeeded: 3 } })).toBe(true);
  });
});

describe("the targets of a rollout", () => {
  const lists: Partial<Record<TargetState, readonly RolloutTarget[][]>> = {
    failed: [[target("a", "failed")]],
    succeeded: [
      Array.from({ length: 50 }, (_, index) => target(`s${index}`, "succeeded")),
      [target("a", "succeeded"), target("z", "succeeded")],
    ],
  };
  const read = async (state: TargetState, cursor: string | undefined) => {
    const pages = lists[state] ?? [];
    const index = Number(cursor ?? 0);
    return { targets: pages[index] ?? [], next_cursor: index + 1 < pages.length ? String(index + 1) : null };
  };
  const counts = { succeeded: 52, failed: 1 };

  it("begin with those that failed, and go on where a page ended", async () => {
    const first = await readTargetPage(counts, undefined, FIRST_PAGE, read);
    expect(first.targets.map(({ asset_id: id }) => id).slice(0, 2)).toEqual(["a", "s0"]);
    expect(first.next).toEqual({ state: "succeeded", cursor: "1" });
    const second = await readTargetPage(counts, undefined, first.next!, read);
    expect([second.targets.length, second.next]).toEqual([2, undefined]);
    // One that was retried meanwhile is listed once.
    expect(flatten([first, second]).filter(({ asset_id: id }) => id === "a")).toHaveLength(1);
  });

  it("are those of one state where one is chosen, also without any", async () => {
    expect((await readTargetPage(counts, "failed", FIRST_PAGE, read)).targets).toHaveLength(1);
    expect(await readTargetPage(counts, "lost", FIRST_PAGE, read)).toEqual({ targets: [], next: undefined });
    expect(await readTargetPage({}, undefined, FIRST_PAGE, read)).toEqual({ targets: [], next: undefined });
  });
});

describe("a rollout before it starts", () => {
  it("has waves of so many assets", () => {
    const { waves } = rolloutStrategySchema.parse({ waves: [{ limit: 5 }, { limit: "20%" }] });
    expect(waveSizes(waves, 60).map(({ targets }) => targets)).toEqual([5, 7, 48]);
    expect(waveSizes(waves, 3).map(({ targets }) => targets)).toEqual([3, 0, 0]);
    const { waves: chosen } = rolloutStrategySchema.parse({ waves: [{ limit: 5, selector: "beta" }] });
    expect(waveSizes(chosen, 60)).toEqual([
      { targets: 5, isUpperBound: true },
      { targets: 60, isUpperBound: true },
    ]);
  });

  it("is described in words", () => {
    const strategy = rolloutStrategySchema.parse({
      waves: [{ limit: 1, soak_s: 600, advance: "manual" }],
      on_stop: "rollback",
      windows: [{ days: ["mon"], from: "02:00", to: "05:00" }],
    });
    expect(describeStrategy(strategy)).toEqual([
      "Wave 1: up to 1 asset, soak 10 min, then a person lets the next one begin.",
      "Last wave: all others, soak 1 min.",
      "At most 50 at a time, up to 2 attempts on each.",
      "Stops when 10% of the assets failed, once 5 have ended; then it rolls back by itself.",
      "Begins only mon 02:00–05:00 (time of the device).",
    ]);
  });

  it("has a price that sums up what assets answered, the largest first", () => {
    const price = [priced("a", 10), priced("b", 30), priced("c", 0)].reduce(addPriceEvent, NO_PRICE);
    expect([price.answered, price.largest.map(({ asset_id: id }) => id)]).toEqual([3, ["b", "a"]]);
    const fail = { status: "Fail", message: "No.", seq: 2, timestamp: 1, code: "Internal" } as const;
    expect(() => addPriceEvent(price, fail)).toThrow("No.");
  });

  it("shows images by their tag with the first digits of the digest", () => {
    const digest = `sha256:${"ab".repeat(32)}`;
    expect(formatImage("r.example/web:4.1", `r.example/web@${digest}`)).toBe("r.example/web:4.1 (abababababab)");
    expect(formatImage(`r.example/web@${digest}`, `r.example/web@${digest}`)).toBe("r.example/web (abababababab)");
  });
});
