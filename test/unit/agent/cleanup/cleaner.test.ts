import { describe, expect, it } from "vitest";
import { Cleaner } from "../../../../src/agent/cleanup/cleaner.ts";
import { ImagesInUse } from "../../../../src/agent/contents/images-in-use.ts";
import { PulledImages } from "../../../../src/agent/cleanup/pulled-images.ts";
import { AgentRig } from "../../../support/agent-rig.ts";

const image = (version: number): string => `registry.example.com/team/app:${version}`;
const DAY_MS = 86_400_000;
const unaborted = new AbortController().signal;

/** A rig with images to pull, and a cleaner. */
async function rigged() {
  const rig = new AgentRig();
  for (const version of [1, 2, 3, 4]) rig.engine.publish(image(version), { layers: [version * 1_000_000] });
  const unreachable = new Set<string>();
  const asked: string[] = [];
  const inUse = new ImagesInUse();
  const cleaner = new Cleaner({
    ...rig.services,
    isEnabled: true,
    isInUse: (imageId) => inUse.has(imageId),
    rules: { keepMs: DAY_MS, minFreeShare: 0.1 },
    findPullObstacle: async (reference) => {
      asked.push(reference);
      return unreachable.has(reference) ? "no route to host" : undefined;
    },
  });
  const update = async (id: string, version: number) => {
    if (version === 1) rig.deployments.deploy(id, { name: "app", image: image(1) });
    else rig.deployments.change(id, { action: "update", app: "app", spec: { image: image(version) } });
    expect(await rig.untilEnd(id)).toMatchObject({ status: "Success" });
    rig.store.acknowledge(id, rig.last(id)?.device_seq ?? 0);
  };
  const isThere = async (version: number) => (await rig.engine.inspectImage(image(version), unaborted)) !== undefined;
  const round = (request: { dryRun?: boolean; all?: boolean } = {}) =>
    cleaner.round({ dryRun: false, all: false, ...request }, unaborted);
  return {
    rig,
    cleaner,
    inUse,
    unreachable,
    asked,
    update,
    isThere,
    round,
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

describe("cleaning up images", () => {
  it("keeps the image of an app and the previous one, and removes older ones", async () => {
    await using test = await rigged();
    await test.update("d1", 1);
    await test.update("d2", 2);
    await test.update("d3", 3);
    const result = await test.round({ all: true });
    expect(result).toMatchObject({
      removed: [{ reference: image(1), bytes: 1_000_000 }],
      kept: [],
      freedBytes: 1_000_000,
    });
    expect([await test.isThere(1), await test.isThere(2), await test.isThere(3)]).toEqual([false, true, true]);
    expect(await test.round({ all: true })).toMatchObject({ removed: [], kept: [] });
  });

  it("keeps an image that downloads take files from, until the last of them is over", async () => {
    await using test = await rigged();
    for (const version of [1, 2, 3]) await test.update(`d${version}`, version);
    const { id = "" } = (await test.rig.engine.inspectImage(image(1), unaborted)) ?? {};
    const [first, second] = [test.inUse.hold([id, id]), test.inUse.hold([id])];
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    expect(await test.round({ all: true })).toMatchObject({
      removed: [],
      kept: [{ reference: image(1), why: "a download takes files from it" }],
    });
    expect(await test.isThere(1)).toBe(true);
    second[Symbol.dispose]();
    expect(await test.round({ all: true })).toMatchObject({ removed: [{ reference: image(1) }] });
  });

  it("keeps what a fleet may go back to, also where the disk is nearly full, until its list says otherwise", async () => {
    await using test = await rigged();
    for (const version of [1, 2, 3, 4]) await test.update(`d${version}`, version);
    const pulled = new PulledImages(test.rig.store);
    const digest = `sha256:${"d".repeat(64)}`;
    const [second, ...others] = pulled.all().toSorted((one) => (one.reference === image(2) ? -1 : 1));
    pulled.replace([...others, ...(second ? [{ ...second, digest }] : [])]);
    const wanted = `registry.example.com/team/app@${digest}`;
    const app = { name: "app", image: image(4), pull: "missing" as const };
    const fleet = { name: "kiosks", revision: 1 };
    const apply = async (id: string, fields: object) => {
      test.rig.deployments.apply(id, { project: "kiosks", apps: [{ app }], adopt: true, fleet, ...fields });
      expect(await test.rig.untilEnd(id)).toMatchObject({ status: "Success" });
      test.rig.store.acknowledge(id, 10_000);
    };
    await apply("g1", { keep_images: [wanted] });
    test.rig.host.share = 0.01;
    const isThere = async () => [await test.isThere(1), await test.isThere(2), await test.isThere(4)];
    expect(await test.round()).toMatchObject({ removed: [{ reference: image(1) }] });
    expect(await isThere()).toEqual([false, true, true]);
    expect(await test.round({ all: true })).toMatchObject({ removed: [] });
    await apply("g2", {});
    expect((await test.round()).removed.map(({ reference }) => reference)).toContain(image(2));
    expect(await isThere()).toEqual([false, false, true]);
  });

  it("only reports on a dry run what it would remove", async () => {
    await using test = await rigged();
    for (const version of [1, 2, 3]) await test.update(`d${version}`, version);
    expect(await test.round({ all: true, dryRun: true })).toMatchObject({ removed: [{ reference: image(1) }] });
    expect(await test.isThere(1)).toBe(true);
  });

  it("keeps an image whose registry is unreachable", async () => {
    await using test = await rigged();
    for (const version of [1, 2, 3]) await test.update(`d${version}`, version);
    test.unreachable.add(image(1));
    const kept = [
      { reference: image(1), bytes: 1_000_000, why: expect.stringContaining("no route to host") as string },
    ];
    expect(await test.round({ all: true })).toEqual({ removed: [], kept, freedBytes: 0 });
    expect(await test.isThere(1)).toBe(true);
    test.unreachable.clear();
    expect((await test.round({ all: true })).removed).toHaveLength(1);
  });

  it("keeps images that the agent did not pull, that have another name, or that a container uses", async () => {
    await using test = await rigged();
    test.rig.engine.addImage(image(1), { layers: [1_000_000] });
    for (const version of [1, 2, 3, 4]) await test.update(`d${version}`, version);
    const second = await test.rig.engine.inspectImage(image(2), unaborted);
    await test.rig.engine.tagImage(second?.id ?? "", "mine:1", unaborted);
    expect(await test.round({ all: true })).toMatchObject({ removed: [] });
    expect([await test.isThere(1), await test.isThere(2)]).toEqual([true, true]);
    await test.rig.engine.untagImage("mine:1", unaborted);
    const request = { ...test.rig.engine.container("app")!.request, name: "other", labels: {}, image: image(2) };
    const other = await test.rig.engine.createContainer(request, unaborted);
    expect((await test.round({ all: true })).kept).toMatchObject([{ reference: image(2), why: "a container uses it" }]);
    await test.rig.engine.removeContainer(other, unaborted);
    expect((await test.round({ all: true })).removed).toMatchObject([{ reference: image(2) }]);
  });

  it("removes images unneeded for a day, asking their registry at most once a day", async () => {
    await using test = await rigged();
    for (const version of [1, 2, 3]) await test.update(`d${version}`, version);
    test.unreachable.add(image(1));
    const stop = new AbortController();
    const running = test.cleaner.run(stop.signal);
    await test.rig.clock.advance(DAY_MS - 1);
    expect(test.asked).toEqual([]);
    await test.rig.clock.advance(3 * DAY_MS);
    expect(test.asked.length).toBeGreaterThanOrEqual(2);
    expect(test.asked.length).toBeLessThanOrEqual(4);
    test.unreachable.clear();
    await test.rig.clock.advance(2 * DAY_MS);
    expect(await test.isThere(1)).toBe(false);
    stop.abort(new Error("over"));
    await running;
  });

  it("removes images at once when the disk is nearly full", async () => {
    await using test = await rigged();
    for (const version of [1, 2, 3]) await test.update(`d${version}`, version);
    test.rig.host.share = 0.05;
    expect((await test.round()).removed).toMatchObject([{ reference: image(1), reason: "disk" }]);
  });

  it("removes the image of an app that was removed, and of a deployment that failed", async () => {
    await using test = await rigged();
    await test.update("d1", 1);
    test.rig.deployments.change("d2", { action: "remove", app: "app" });
    await test.rig.untilEnd("d2");
    test.rig.store.acknowledge("d2", test.rig.last("d2")?.device_seq ?? 0);
    const crasher = { behaviour: { exit: { code: 1, afterMs: 10 } } };
    test.rig.engine.publish(image(9), crasher);
    test.rig.deployments.deploy("d3", { name: "other", image: image(9) });
    expect(await test.rig.untilEnd("d3")).toMatchObject({ status: "Fail" });
    test.rig.store.acknowledge("d3", test.rig.last("d3")?.device_seq ?? 0);
    const { removed } = await test.round({ all: true });
    expect(removed.map(({ reference }) => reference).toSorted()).toEqual([image(1), image(9)]);
  });

  it("remembers pulled images across restarts, and knows none without the store", async () => {
    await using test = await rigged();
    await test.update("d1", 1);
    expect(new PulledImages(test.rig.store).all()).toMatchObject([{ reference: image(1), unneededSince: null }]);
    const stored = JSON.stringify([{ reference: image(1), id: "sha256:1", before: null, unneededSince: 5 }]);
    const earlier = { learnedValue: () => stored, saveLearnedValue: () => undefined };
    expect(new PulledImages(earlier).all()).toMatchObject([{ id: "sha256:1", unneededSince: 5 }]);
    const broken = { learnedValue: () => "{", saveLearnedValue: () => undefined };
    expect(new PulledImages(broken).all()).toEqual([]);
  });
});
