import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ChaosSystem } from "../support/chaos/chaos-system.ts";
import { checkInvariants } from "../support/chaos/invariants.ts";
import { describePoint, pullKillPoints, requestAndKill } from "../support/chaos/kill-points.ts";
import { RegistryGate } from "../support/chaos/registry-gate.ts";
import { firstSeed, SeededRandom } from "../support/chaos/seeded-random.ts";
import { plainClient } from "../support/download/layer-rig.ts";
import { sleeperImage, uniqueName } from "../support/images.ts";
import { buildImage, type Image, type ImageConfig } from "../support/images/image.ts";
import { pushIndex } from "../support/images/push-index.ts";
import { versionedImage } from "../support/images/versioned-image.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../support/private-engine.ts";
import { Registry } from "../support/registry.ts";
import { engineRequest } from "../support/images.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";

/*
 * Kills the agent with SIGKILL before, during and after each request to the registry and each call to the engine of an update
 * by parts. `CHAOS=full` tries every point, otherwise a few chosen by the seed. One app goes from version to version, each of
 * which has contents of the one before.
 */

const FULL = process.env["CHAOS"] === "full";
const SAMPLE = 3;
/** More than an update needs. */
const [CALLS, REQUESTS] = [60, 14];
const NEW_BYTES = 500_000;

const seed = firstSeed();
const images = uniqueName("seed");
const missing = await privateEngineUnavailableReason();

/** An app that runs, with many files, of which a version changes a few. */
async function appImage(version: number): Promise<Image> {
  const runs = await sleeperImage("parts");
  const files = await versionedImage({ seed: images, version, files: 200, newBytes: NEW_BYTES });
  const { config } = JSON.parse(runs.config.toString()) as { config: ImageConfig };
  return buildImage([...runs.layers, ...files.layers], config);
}

describe.skipIf(missing)("killed while updating by parts", () => {
  const owned = new AsyncDisposableStack();
  const repository = `${uniqueName("team")}/app`;
  let engine: PrivateEngine;
  let registry: Registry;
  let gate: RegistryGate;
  let device: Awaited<ReturnType<typeof tempDir>>;
  beforeAll(async () => {
    engine = owned.use(await PrivateEngine.start());
    registry = owned.use(await Registry.start());
    gate = owned.use(await RegistryGate.to(registry.port));
    device = owned.use(await tempDir());
  });
  afterAll(() => owned.disposeAsync());

  /** Pushes a version with its index. Returns its reference through the gate. */
  const publish = async (image: Image, version: number): Promise<string> => {
    const reference = await registry.push(image, `${repository}:${version}`);
    const { os, architecture } = JSON.parse(image.config.toString()) as { os: string; architecture: string };
    const signal = AbortSignal.timeout(240_000);
    const resolved = await plainClient().resolve(reference, { os, architecture }, undefined, signal);
    const { digest, mediaType, manifest } = resolved;
    await pushIndex(`http://${registry.host}`, repository, { digest, mediaType, size: manifest.length }, image);
    return reference.replace(registry.host, gate.host);
  };

  const leftovers = async (): Promise<string[]> => {
    const names = await readdir(join(device.path, "agent", "downloads")).catch(() => []);
    return names.filter((name) => !name.endsWith(".json"));
  };

  test(
    "the update ends with the registry's image, and pays for nothing twice",
    { timeout: FULL ? 7_200_000 : 900_000 },
    async () => {
      const random = new SeededRandom(seed);
      const all = pullKillPoints(CALLS, REQUESTS);
      const chosen = FULL ? all : Array.from({ length: SAMPLE }, () => random.pick(all));
      let reached = 0;
      await using system = await ChaosSystem.start(engine.socketPath, { deviceDirectory: device.path });
      const name = system.name();
      const first = await system.request({ name, image: await publish(await appImage(1), 1) }).finished;
      expect(first.status).toBe("Success");
      for (const [index, point] of chosen.entries()) {
        const what = `seed ${seed}: ${describePoint(point)}`;
        try {
          const image = await appImage(index + 2);
          const reference = await publish(image, index + 2);
          gate.received = 0;
          const change = { name, action: "update", patch: { image: reference } } as const;
          const { wasReached, final } = await requestAndKill(system, change, point, gate);
          if (wasReached) reached++;
          expect(final.status, what).toBe("Success");
          await checkInvariants(system);
          const { body } = await engineRequest(engine.socketPath, "GET", `/images/${reference}/json`);
          expect((JSON.parse(body) as { Id: string }).Id, what).toBe(image.id);
          const layer = image.layers.at(-1)?.compressed.length ?? 0;
          expect(gate.received, what).toBeLessThan(layer / 2);
          await waitFor("nothing to be left on flash", async () => (await leftovers()).length === 0);
        } catch (error) {
          throw new Error(`${what}\n${system.tail()}`, { cause: error });
        }
      }
      console.log(`seed ${seed}: ${reached} of ${chosen.length} points were reached`);
    },
  );
});
