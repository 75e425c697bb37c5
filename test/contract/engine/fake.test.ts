import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { FakeEngine } from "../../support/fake-engine.ts";
import { engineContract } from "./engine-contract.ts";
import { IMAGE_LABELS } from "./harness.ts";

engineContract("fake", async () => {
  const engine = new FakeEngine(systemClock);
  const images = {
    sleeper: "sleeper:1",
    crasher: "crasher:1",
    lateCrasher: "late-crasher:1",
    healthy: "healthy:1",
    unhealthy: "unhealthy:1",
    laden: "laden:1",
    ownUser: "own-user:1",
  };
  let directories = 0;
  engine.addImage(images.sleeper);
  engine.addImage(images.laden, { labels: IMAGE_LABELS, behaviour: { health: { becomes: "healthy", afterMs: 50 } } });
  const owner = { uid: 1000, gid: 1000 };
  const data = { kind: "directory", mode: 0o775, owner, content: undefined } as const;
  const content = Buffer.from("answer=42\n");
  const conf = { kind: "file", mode: 0o640, owner: { uid: 7, gid: 2_500_000 }, content } as const;
  engine.addImage(images.ownUser, { user: "node", files: { "/data": data, "/linked": data, "/conf/app.conf": conf } });
  const logs = ["starting", "cannot go on"];
  engine.addImage(images.crasher, { behaviour: { exit: { code: 7, afterMs: 5 }, logs } });
  engine.addImage(images.lateCrasher, { behaviour: { exit: { code: 7, afterMs: 1_000 }, logs } });
  const times = { startPeriodMs: 0, intervalMs: 1_000, timeoutMs: 60_000, retries: 2 };
  engine.addImage(images.healthy, {
    behaviour: {
      health: { becomes: "healthy", afterMs: 50, output: "fine", times: { ...times, startPeriodMs: 6_000 } },
    },
  });
  engine.addImage(images.unhealthy, {
    behaviour: { health: { becomes: "unhealthy", afterMs: 50, output: "not yet", times } },
  });
  engine.publish("registry/present:1", { layers: [1_000, 2_000] });
  engine.publish("registry/large:1", { layers: [100_000_000], pullMs: 1000 });
  engine.publish("registry/denied:1", new EngineError("image_denied", "pull access denied"));
  engine.publish("registry/foreign:1", { architecture: "s390x" });
  engine.publish("registry/unreachable:1", new EngineError("registry_unreachable", "connection refused"));
  return {
    engine,
    kind: "docker",
    images,
    pullable: {
      present: "registry/present:1",
      large: "registry/large:1",
      missing: "registry/missing:1",
      denied: "registry/denied:1",
      otherPlatform: "registry/foreign:1",
      unreachable: "registry/unreachable:1",
    },
    files: {
      async directory() {
        const path = `/tmp/${++directories}`;
        engine.files.addEmptyDirectory(path);
        return path;
      },
      brokenLink: async (path) => engine.files.add(path, "link"),
      remove: async (path) => engine.files.remove(path),
      look: async (path) => engine.files.find(path),
    },
    lookInVolume: async (name) => engine.volumes.look(name),
    async commit(container) {
      engine.addImage("committed:1", { labels: engine.container(container)?.request.labels ?? {} });
      return "committed:1";
    },
    finds: async (id, name) => engine.networks.resolve(engine.container(id)!, name).length === 1,
    removeNetwork: async (name) => engine.networks.delete(name),
    freeSubnet: async () => "10.0.0.0/24",
    async occupyPort(port) {
      const held = engine.occupyPort(port);
      return { [Symbol.asyncDispose]: async () => held[Symbol.dispose]() };
    },
    countsUse: async () => true,
    async obstructRemoval(id) {
      const container = engine.container(id)!;
      container.unremovable = 'driver "overlay2" failed to remove root filesystem';
      return { [Symbol.asyncDispose]: async () => void (container.unremovable = undefined) };
    },
    pause: async (id) => engine.container(id)!.pause(),
    [Symbol.asyncDispose]: async () => {
      for (const container of engine.containers) container.stop();
    },
  };
});
