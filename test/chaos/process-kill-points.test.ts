import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkInvariants } from "../support/chaos/invariants.ts";
import { requestAndKill, describePoint, killPoints } from "../support/chaos/kill-points.ts";
import { firstSeed, SeededRandom } from "../support/chaos/seeded-random.ts";
import { ChaosSystem } from "../support/chaos/chaos-system.ts";
import { freeHostPort } from "../support/free-port.ts";
import { crashLoopImage, type Image, loadImage, removeImage, sleeperImage } from "../support/images.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../support/private-engine.ts";
import { Registry } from "../support/registry.ts";

/*
 * Kills real processes with SIGKILL before and after single engine calls and frames, and restarts them. `CHAOS=full`
 * tries every point, otherwise a few chosen by the seed.
 */

const FULL = process.env["CHAOS"] === "full";
const SAMPLE = 3;
/** Apps stay, so that the system gets slower with each. */
const POINTS_PER_SYSTEM = 12;

const seed = firstSeed();
const missing = await privateEngineUnavailableReason();
const tried = new Map<string, number>();

const kinds = {
  "an image that is present": { ends: "Success", image: () => sleeperImage("kill"), pulled: false },
  "an image to pull": { ends: "Success", image: () => sleeperImage("pulled"), pulled: true },
  "an app that crashes": { ends: "Fail", image: () => crashLoopImage(1), pulled: false },
} as const;

describe.skipIf(missing)("killed while deploying", () => {
  const owned = new AsyncDisposableStack();
  let engine: PrivateEngine;
  let registry: Registry;
  beforeAll(async () => {
    engine = owned.use(await PrivateEngine.start());
    registry = owned.use(await Registry.start());
  });
  afterAll(async () => {
    await owned.disposeAsync();
    const total = [...tried.values()].reduce((sum, count) => sum + count, 0);
    const lines = [...tried].map(([name, count]) => `${count} ${name}`);
    console.log(`seed ${seed}; points tried:\n${lines.join("\n")}\n${total} in all`);
  });

  const provide = async (image: Image, pulled: boolean): Promise<{ reference: string } & AsyncDisposable> => {
    if (!pulled) return loadImage(engine.socketPath, image, "kill");
    // A floating tag: resolved at the registry each time.
    const reference = await registry.push(image, "chaos/kill:latest");
    return { reference, [Symbol.asyncDispose]: () => removeImage(engine.socketPath, reference) };
  };

  test.each(Object.entries(kinds))("%s", { timeout: FULL ? 1_800_000 : 900_000 }, async (name, kind) => {
    await using image = await provide(await kind.image(), kind.pulled);
    const random = new SeededRandom(seed);
    const all = killPoints(14, 12);
    const chosen = FULL ? all : Array.from({ length: SAMPLE }, () => random.pick(all));
    while (chosen.length > 0) {
      await using system = await ChaosSystem.start(engine.socketPath);
      for (const point of chosen.splice(0, POINTS_PER_SYSTEM)) {
        const ports = [{ host_port: await freeHostPort(), target_port: 80 }];
        const what = `seed ${seed}: ${describePoint(point)}`;
        try {
          const { wasReached, final } = await requestAndKill(
            system,
            { name: system.name(), image: image.reference, ports },
            point,
          );
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
