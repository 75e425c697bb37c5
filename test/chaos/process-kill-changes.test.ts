import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkInvariants } from "../support/chaos/invariants.ts";
import { describePoint, killPoints, requestAndKill } from "../support/chaos/kill-points.ts";
import type { AppChange } from "../support/chaos/request.ts";
import { firstSeed, SeededRandom } from "../support/chaos/seeded-random.ts";
import { ChaosSystem } from "../support/chaos/chaos-system.ts";
import { freeHostPort } from "../support/free-port.ts";
import { crashLoopImage, loadImage, sleeperImage } from "../support/images.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../support/private-engine.ts";

/*
 * The kill points for changes of an installed app: each change ends once, and the app then either has the requested
 * state or is unchanged.
 */

const FULL = process.env["CHAOS"] === "full";
const SAMPLE = 2;
const POINTS_PER_SYSTEM = 12;
/** More than any change needs. */
const [CALLS, FRAMES] = [24, 14];

const seed = firstSeed();
const missing = await privateEngineUnavailableReason();
const tried = new Map<string, number>();

interface Kind extends Pick<AppChange, "action" | "patch"> {
  /** The new image of an update. */
  readonly image?: "second" | "crasher";
  readonly ends: "Success" | "Fail";
}

const kinds: Readonly<Record<string, Kind>> = {
  "update to another image": { action: "update", image: "second", ends: "Success" },
  "update of the environment": {
    action: "update",
    patch: { environments: [{ key: "A", value: "2" }] },
    ends: "Success",
  },
  "update that crashes": { action: "update", image: "crasher", ends: "Fail" },
  remove: { action: "remove", ends: "Success" },
  stop: { action: "stop", ends: "Success" },
  restart: { action: "restart", ends: "Success" },
};

/** Deploys an app and returns its name. Retries while the device reconnects after the previous kill point. */
async function deployed(system: ChaosSystem, image: string): Promise<string> {
  for (;;) {
    const app = { name: system.name(), image, ports: [{ host_port: await freeHostPort(), target_port: 80 }] };
    const final = await system.request(app).finished;
    if (final.code === "DeviceNotReachable") continue;
    expect(final.status).toBe("Success");
    return app.name;
  }
}

describe.skipIf(missing)("killed while changing an app", () => {
  const owned = new AsyncDisposableStack();
  let engine: PrivateEngine;
  let images: Record<"first" | "second" | "crasher", string>;
  beforeAll(async () => {
    engine = owned.use(await PrivateEngine.start());
    const load = async (image: Parameters<typeof loadImage>[1], label: string): Promise<string> =>
      owned.use(await loadImage(engine.socketPath, image, label)).reference;
    images = {
      first: await load(await sleeperImage("kill-1"), "first"),
      second: await load(await sleeperImage("kill-2"), "second"),
      crasher: await load(await crashLoopImage(1), "crasher"),
    };
  });
  afterAll(async () => {
    await owned.disposeAsync();
    const total = [...tried.values()].reduce((sum, count) => sum + count, 0);
    const lines = [...tried].map(([name, count]) => `${count} ${name}`);
    console.log(`seed ${seed}; points tried:\n${lines.join("\n")}\n${total} in all`);
  });

  test.each(Object.entries(kinds))("%s", { timeout: FULL ? 3_600_000 : 900_000 }, async (name, kind) => {
    const random = new SeededRandom(seed);
    const all = killPoints(CALLS, FRAMES);
    const chosen = FULL ? all : Array.from({ length: SAMPLE }, () => random.pick(all));
    while (chosen.length > 0) {
      await using system = await ChaosSystem.start(engine.socketPath);
      for (const point of chosen.splice(0, POINTS_PER_SYSTEM)) {
        const what = `seed ${seed}: ${describePoint(point)}`;
        try {
          const app = await deployed(system, images.first);
          const patch = kind.image ? { image: images[kind.image] } : kind.patch;
          const change = { name: app, action: kind.action, ...(patch && { patch }) };
          const { wasReached, final } = await requestAndKill(system, change, point);
          if (final.code !== "DeviceNotReachable") expect(final.status, what).toBe(kind.ends);
          await checkInvariants(system);
          const label = `${name}: ${point.victim} at ${point.counted}s`;
          if (wasReached) tried.set(label, (tried.get(label) ?? 0) + 1);
        } catch (error) {
          throw new Error(`${what}\n${system.tail()}`, { cause: error });
        }
      }
    }
  });
});
