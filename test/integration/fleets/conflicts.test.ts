import { expect, test } from "vitest";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { Latch } from "../../../src/lib/latch.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { withProperty } from "../../support/control-plane/with-property.ts";
import { type FleetRig, imageOf, startFleetRig } from "../../support/fleets/fleet-rig.ts";
import { waitFor } from "../../support/wait-for.ts";

/** Resolves when the only target of the rollout waits for another rollout or another fleet. */
async function waitsFor(rig: FleetRig, reason: string, fleet: string, id: string): Promise<void> {
  await waitFor("the target to wait", async () => {
    const [target] = await rig.targets(fleet, id);
    return target?.["state"] === "waiting" && target["for"] === reason;
  });
}

const firstImages = ({ devices }: FleetRig) => devices[0]?.device.received.map(({ images }) => images[0]);

/** The same store, which changes targets in another way. */
function withChangeTargets(store: Store, changeTargets: Store["rollouts"]["changeTargets"]): Store {
  const rollouts = withProperty(store.rollouts, "changeTargets", changeTargets);
  return withProperty(store, "rollouts", rollouts);
}

test("a rollout begins as soon as the attempt of an earlier one has ended on record, not a pause later", async () => {
  const release = new Latch();
  let isHeld = false;
  // Its end is known for a while before the earlier rollout has noted it.
  const decorateStore = (store: Store) =>
    withChangeTargets(store, async (fence, changes, beginning) => {
      const isEnd = changes.some(({ before, after }) => before.state === "deploying" && after.state !== "deploying");
      if (isEnd && !isHeld) {
        isHeld = true;
        await release.wait(systemClock, 300_000);
      }
      return store.rollouts.changeTargets(fence, changes, beginning);
    });
  await using rig = await startFleetRig(1, { decorateStore });
  await rig.fleet("kiosks", {});
  await rig.revision("kiosks", "one");
  await rig.rollOut("kiosks");
  await waitFor("the attempt to have ended", () => isHeld);
  await rig.revision("kiosks", "two");
  const second = await rig.rollOut("kiosks");
  await waitsFor(rig, "deployment", "kiosks", second);
  release.set();
  await rig.reach("kiosks", second, "succeeded");
  expect(firstImages(rig)).toEqual([imageOf("one"), imageOf("two")]);
});

test.each([
  ["is removed", async ({ api }: FleetRig) => expect((await api.delete("/v1/fleets/kiosks")).status).toBe(204)],
  [
    "has it on its list no more",
    async ({ api }: FleetRig) => expect((await api.patch("/v1/fleets/kiosks", { apps: ["db"] })).status).toBe(200),
  ],
])("a rollout begins on an asset once the fleet that owned the app there %s", async (_name, release) => {
  await using rig = await startFleetRig(1);
  await rig.fleet("kiosks", {}, { apps: ["web", "db"] });
  await rig.revision("kiosks", "one");
  await rig.reach("kiosks", await rig.rollOut("kiosks"), "succeeded");
  await rig.fleet("newer", {});
  await rig.revision("newer", "two");
  const id = await rig.rollOut("newer");
  await waitsFor(rig, "conflict", "newer", id);
  await release(rig);
  await rig.reach("newer", id, "succeeded");
  expect(firstImages(rig)).toEqual([imageOf("one"), imageOf("two")]);
});

test("of an older revision, only the apps are brought that the fleet still owns", async () => {
  await using rig = await startFleetRig(1);
  await rig.fleet("kiosks", {}, { apps: ["web", "db"] });
  const db = { app: { name: "db", image: imageOf("db") }, depends_on: [{ app: "web" }] };
  const both = { apps: [{ app: { name: "web", image: imageOf("web") } }, db] };
  expect((await rig.api.post("/v1/fleets/kiosks/revisions", both)).status).toBe(201);
  await rig.revision("kiosks", "two");
  await rig.api.patch("/v1/fleets/kiosks", { apps: ["db"] });
  await rig.reach("kiosks", await rig.rollOut("kiosks", { revision: 1 }), "succeeded");
  expect(rig.devices[0]?.device.received.map(({ images }) => images)).toEqual([[imageOf("db")]]);
  const nothing = await rig.api.post("/v1/fleets/kiosks/rollouts", { revision: 2 });
  expect(nothing.status).toBe(422);
  expect(JSON.stringify(nothing.body)).toContain("has no app that the fleet owns");
});

test.each([
  ["whose first rollout has succeeded", "succeed", "succeeded"],
  ["without any success, and so without upkeep", { fail: "Unhealthy" }, "failed"],
  ["that has nothing but a draft under way", { fail: "Unhealthy" }, "draft"],
] as const)("a rollout begins on an asset that leaves a fleet %s", async (_name, behaviour, state) => {
  await using rig = await startFleetRig(1);
  const [first] = rig.devices;
  if (first) first.device.behave = ({ images }) => (images.includes(imageOf("one")) ? behaviour : "succeed");
  await rig.fleet("kiosks", { attempts: 1 }, { selector: "role=kiosk,site!=north" });
  await rig.revision("kiosks", "one");
  await rig.reach("kiosks", await rig.rollOut("kiosks"), state === "draft" ? "failed" : state);
  if (state === "draft") await rig.reach("kiosks", await rig.rollOut("kiosks", { start: false }), state);
  await rig.fleet("newer", {});
  await rig.revision("newer", "two");
  const id = await rig.rollOut("newer");
  await waitsFor(rig, "conflict", "newer", id);
  await rig.api.patch(`/v1/assets/${first?.uuid}/tags`, { site: "north" });
  await rig.reach("newer", id, "succeeded");
  expect(firstImages(rig)).toEqual([imageOf("one"), imageOf("two")]);
});
