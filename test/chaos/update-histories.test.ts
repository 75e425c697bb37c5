import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { firstSeed, SeededRandom } from "../support/chaos/seeded-random.ts";
import { type DeviceEvent, DeviceModel, type DeviceState, type DiskFault } from "../support/updates/device-model.ts";
import { UpdateRig } from "../support/updates/update-rig.ts";

const VERSIONS = ["1.1.0", "1.2.0", "1.3.0"];
const HISTORIES = process.env["CHAOS"] === "full" ? 1_000 : 150;
const STEPS = 25;
const MAX_STARTS = 3;

/** How a release fails, or does not. */
const KINDS = ["good", "crashes", "hangs", "crashes twice, then works"] as const;
type Kind = (typeof KINDS)[number];

/** A device's life: what is on its disk, and what really happened. */
interface Life {
  state: DeviceState;
  running: string | undefined;
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly confirmed: Set<string>;
  /** The version to go back to: the one confirmed last, unless the package took over. */
  latest: string;
  /** Starts of the version on trial, of this attempt. */
  trialStarts: number;
  readonly faults: Map<string, number>;
}

describe("histories of releases, with kills and power cuts at every change of the disk", () => {
  let rig: UpdateRig;
  let model: DeviceModel;
  beforeAll(async () => {
    rig = await UpdateRig.create();
    for (const version of [...VERSIONS, "1.4.0"]) await rig.release(version);
    // Two steps of the timer.
    writeFileSync(rig.path("config.json"), JSON.stringify({ agent_updates: { trial_s: 60 } }));
    model = new DeviceModel(rig);
  });
  afterAll(() => rig[Symbol.asyncDispose]());

  it(
    `${HISTORIES} end with a version that was confirmed, and no version on trial started more than ${MAX_STARTS} times`,
    { timeout: 1_800_000 },
    async () => {
      const seed = firstSeed();
      const faults = new Map<string, number>();
      for (let history = 0; history < HISTORIES; history++) {
        const random = new SeededRandom(seed + history);
        try {
          await playHistory(random, faults);
        } catch (error) {
          throw new Error(`CHAOS_SEED=${seed}, history ${history}: ${String(error)}`, { cause: error });
        }
      }
      console.log(
        `seed ${seed}: ${model.cases} cases; ${[...faults].map(([name, count]) => `${name} ${count}`).join(", ")}`,
      );
      // Each kind of fault has occurred.
      expect([...faults.keys()].toSorted()).toEqual(
        ["cut", "full", "read-only", "upgrade", "pin", ...KINDS.slice(1)].toSorted(),
      );
    },
  );

  it("a life with a good release, one that crashes and an upgrade of the package, cut at each change of the disk", async () => {
    const kinds = new Map<string, Kind>([
      ["1.1.0", "good"],
      ["1.2.0", "crashes"],
      ["1.3.0", "hangs"],
      ["1.4.0", "good"],
    ]);
    const start: DeviceEvent = { type: "prepare" };
    const events: readonly DeviceEvent[] = [
      start,
      { type: "install", version: "1.1.0" },
      start,
      { type: "confirm", version: "1.1.0" },
      { type: "install", version: "1.2.0" },
      start,
      start,
      start,
      start,
      { type: "install", version: "1.2.0" },
      start,
      { type: "pin", to: "package" },
      start,
      { type: "pin", to: "none" },
      { type: "install", version: "1.3.0" },
      start,
      { type: "tick" },
      { type: "tick" },
      start,
      { type: "install", version: "1.4.0" },
      start,
      { type: "confirm", version: "1.4.0" },
      start,
      { type: "upgrade", version: "1.4.0" },
      start,
    ];
    const life = newLife(kinds, new Map());
    let points = 0;
    for (const event of events) {
      for (let cut = 1; ; cut++) {
        const other: Life = { ...life, confirmed: new Set(life.confirmed), faults: new Map() };
        await play(other, event, cut, "none");
        if (!other.faults.has("cut")) break;
        points++;
        await settle(other);
      }
      await play(life, event, undefined, "none");
    }
    await settle(life);
    expect(life.running).toBe("package");
    console.log(`${points} power cuts`);
    expect(points).toBeGreaterThan(80);
  });

  function newLife(kinds: ReadonlyMap<string, Kind>, faults: Map<string, number>): Life {
    return {
      state: model.empty,
      running: undefined,
      kinds,
      confirmed: new Set(["package"]),
      latest: "package",
      trialStarts: 0,
      faults,
    };
  }

  async function playHistory(random: SeededRandom, faults: Map<string, number>): Promise<void> {
    const life = newLife(new Map(VERSIONS.map((version) => [version, random.pick(KINDS)])), faults);
    for (const kind of life.kinds.values()) if (kind !== "good") count(life, kind);
    for (let step = 0; step < STEPS; step++) {
      const fault: DiskFault = random.chance(0.1) ? random.pick(["full", "read-only"] as const) : "none";
      if (fault !== "none") count(life, fault);
      const event = chooseEvent(life, random);
      const cut = random.chance(0.3) ? random.between(1, event.type === "install" ? 30 : 8) : undefined;
      await play(life, event, cut, fault);
    }
    await settle(life);
  }

  function chooseEvent(life: Life, random: SeededRandom): DeviceEvent {
    const dice = random.next();
    const version = random.pick(VERSIONS);
    if (dice < 0.35 || life.running === undefined) return { type: "prepare" };
    if (dice < 0.6) return { type: "install", version };
    if (dice < 0.75) return { type: "tick" };
    if (dice < 0.9) return confirmation(life) ?? { type: "tick" };
    if (dice < 0.95) return { type: "upgrade", version };
    return { type: "pin", to: random.chance(0.7) ? "none" : "package" };
  }

  /** The confirmation of the version that runs, if that works and is on trial. */
  function confirmation({ running, kinds, state }: Life): DeviceEvent | undefined {
    if (running === undefined || kinds.get(running) === "hangs" || kinds.get(running) === "crashes") return undefined;
    return model.look(state).releases.trial?.version === running ? { type: "confirm", version: running } : undefined;
  }

  async function play(life: Life, event: DeviceEvent, cut: number | undefined, fault: DiskFault): Promise<void> {
    if (event.type === "upgrade" || event.type === "pin") count(life, event.type);
    const { releases: before } = model.look(life.state);
    const played = await model.play(life.state, event, cut, fault);
    life.state = played;
    const { releases: after, next } = model.look(played);
    if (event.type === "install" && after.trial && !before.trial) life.trialStarts = 0;
    if (event.type === "confirm" && after.current === event.version && !after.trial) {
      life.confirmed.add(event.version);
      life.latest = event.version;
    }
    if (event.type === "upgrade") life.latest = after.current ?? "package";
    expect([event, after.current ?? "package"]).toEqual([event, life.latest]);
    if (played.wasCut) {
      count(life, "cut");
      life.running = undefined;
    } else if (event.type === "prepare") start(life);
    // Whatever happened, what starts next is known to work, or is on trial.
    if (!life.confirmed.has(next)) expect([event, next]).toEqual([event, after.trial?.version]);
  }

  function start(life: Life): void {
    const folder = life.state.decision?.trim() ?? "";
    const version = folder.startsWith(rig.path("releases")) ? (folder.split("/").at(-1) ?? "") : "package";
    life.running = version;
    if (life.confirmed.has(version)) return;
    life.trialStarts++;
    expect(life.trialStarts).toBeLessThanOrEqual(MAX_STARTS);
    const kind = life.kinds.get(version);
    const ends = kind === "crashes" || (kind === "crashes twice, then works" && life.trialStarts <= 2);
    if (ends) life.running = undefined;
  }

  /** Plays on without faults until a version runs that has nothing to prove. */
  async function settle(life: Life): Promise<void> {
    await play(life, { type: "pin", to: "none" }, undefined, "none");
    life.running = undefined;
    for (let moves = 0; moves < 100; moves++) {
      const { releases, next } = model.look(life.state);
      if (life.running !== next) await play(life, { type: "prepare" }, undefined, "none");
      else {
        const event = confirmation(life);
        if (event) await play(life, event, undefined, "none");
        else if (releases.trial) await play(life, { type: "tick" }, undefined, "none");
        else break;
      }
    }
    const { releases, next } = model.look(life.state);
    expect([releases.trial, life.confirmed.has(life.running ?? ""), next]).toEqual([undefined, true, life.running]);
  }
});

function count({ faults }: Life, name: string): void {
  faults.set(name, (faults.get(name) ?? 0) + 1);
}
