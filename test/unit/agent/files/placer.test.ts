import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ContainerConfig } from "../../../../src/agent/engine/engine.ts";
import { EngineError } from "../../../../src/agent/engine/engine-error.ts";
import { hostPath } from "../../../../src/agent/files/host-path.ts";
import { placeName, placePath, removeOtherPlaces } from "../../../../src/agent/files/place.ts";
import { placeFiles, type PlacerContext } from "../../../../src/agent/files/placer.ts";
import type { AppSpec } from "../../../../src/protocol/apps/app-spec.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeEngine } from "../../../support/fake-engine.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const IMAGE = "example/app:1";
const signal = new AbortController().signal;
const CONTENTS = new Map([
  ["id-1", Buffer.from("one")],
  ["id-2", Buffer.from("two")],
]);
const FILES = [
  { target: "/a", size: 3, secret_id: "id-1", mode: "0444" },
  { target: "/b", size: 3, secret_id: "id-2", mode: "0400", owner: "7:8", secret: true },
];
const SPEC = { name: "app", files: FILES } as unknown as AppSpec;

async function setUp(): Promise<{ context: PlacerContext; engine: FakeEngine; stateDir: string }> {
  const directory = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  const engine = new FakeEngine(new FakeClock());
  engine.addImage(IMAGE);
  const context = {
    engine,
    host: { readMounts: async () => [] },
    store: { fileContent: (id: string) => CONTENTS.get(id) },
    config: { stateDir: directory.path },
    signal,
  };
  return { context, engine, stateDir: directory.path };
}

const placement = { spec: SPEC, name: placeName("d1"), image: async () => IMAGE };

describe("the place of an app's files", () => {
  it.each(["before", "after"] as const)(
    "is complete or not there when the engine fails %s it has written",
    async (phase) => {
      const { context, engine, stateDir } = await setUp();
      engine.faults.fail("writeDeviceFiles", new EngineError("unavailable", "gone"), { phase });
      await expect(placeFiles(context, placement)).rejects.toThrow("gone");
      const directory = placePath(stateDir, placement.name);
      expect(existsSync(directory)).toBe(false);
      const mounts = await placeFiles(context, placement);
      expect(mounts.map(({ source }) => readFileSync(source, "utf8"))).toEqual(["one", "two"]);
      expect(readdirSync(join(stateDir, "files"))).toEqual([placement.name]);
    },
  );

  it("is left alone while it is complete, and made anew where it is not", async () => {
    const { context, engine } = await setUp();
    const [first] = await placeFiles(context, placement);
    let calls = 0;
    engine.faults.onCall(
      ({ method, phase }) => void (calls += Number(method === "writeDeviceFiles" && phase === "after")),
    );
    await placeFiles(context, placement);
    expect(calls).toBe(0);
    chmodSync(first!.source, 0o600);
    writeFileSync(first!.source, "ons");
    await placeFiles(context, placement);
    expect(calls).toBe(1);
    expect(readFileSync(first!.source, "utf8")).toBe("one");
  });

  it("is not made, or looked at, any further when the agent stops", async () => {
    const { context } = await setUp();
    const stopping = new DOMException("the agent is stopping", "AbortError");
    const stopped = { ...context, signal: AbortSignal.abort(stopping) };
    await expect(placeFiles(stopped, placement)).rejects.toBe(stopping);
    await placeFiles(context, placement);
    await expect(placeFiles(stopped, placement)).rejects.toBe(stopping);
  });

  it("is made although a crash left a part of it", async () => {
    const { context, stateDir } = await setUp();
    const part = `${placePath(stateDir, placement.name)}.part`;
    mkdirSync(part, { recursive: true });
    writeFileSync(join(part, "0"), "half of");
    const mounts = await placeFiles(context, placement);
    expect(mounts.map(({ source }) => readFileSync(source, "utf8"))).toEqual(["one", "two"]);
    expect(existsSync(part)).toBe(false);
  });

  it("goes with its deployment, parts of it too", async () => {
    const { context, stateDir } = await setUp();
    await placeFiles(context, placement);
    for (const name of ["d2", "d3"]) mkdirSync(`${placePath(stateDir, placeName(name))}.part`);
    removeOtherPlaces(stateDir, ["d1", "d2"]);
    expect(readdirSync(join(stateDir, "files")).toSorted()).toEqual(
      [placeName("d1"), `${placeName("d2")}.part`].toSorted(),
    );
    removeOtherPlaces(stateDir, []);
    expect(readdirSync(join(stateDir, "files"))).toEqual([]);
  });

  it("has a name that no deployment id can lead out of", () => {
    for (const id of ["../../etc", "/etc", "", "a\0b"]) expect(placeName(id)).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe("a path of the agent on the device", () => {
  const container = "f".repeat(64);
  const mounts = [
    {
      path: "/etc/hostname",
      root: `/var/lib/docker/containers/${container}/hostname`,
      device: "8:1",
      isShared: false,
      isSlave: false,
      isReadOnly: false,
    },
  ];
  const hostOf = (volumes: ContainerConfig["volumes"]) => ({
    engine: { readContainerConfig: async () => ({ volumes }) as unknown as ContainerConfig },
    host: { readMounts: async () => mounts as never },
  });
  const path = "/var/lib/edge-agent/files/x";

  it("is the same outside of a container, and where the directory is mounted under its own name", async () => {
    const outside = { ...hostOf([]), host: { readMounts: async () => [] } };
    expect(await hostPath(outside, path, signal)).toBe(path);
    const same = { local: "/var/lib/edge-agent", target: "/var/lib/edge-agent", readonly: false };
    expect(await hostPath(hostOf([same]), path, signal)).toBe(path);
  });

  it("is the one of the closest mount, and of none if the directory is the container's own", async () => {
    const volumes = [
      { local: "/srv", target: "/var/lib", readonly: false },
      { local: "/srv/state/", target: "/var/lib/edge-agent", readonly: false },
      { local: "/other", target: "/var/lib/edge", readonly: false },
    ];
    expect(await hostPath(hostOf(volumes), path, signal)).toBe("/srv/state/files/x");
    expect(await hostPath(hostOf([volumes[2]!]), path, signal)).toBeUndefined();
  });
});
