import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RetryingClient } from "../support/chaos/client.ts";
import { checkInvariants } from "../support/chaos/invariants.ts";
import { ChaosSystem } from "../support/chaos/chaos-system.ts";
import { fillDisk } from "../support/fill-disk.ts";
import { type LoadedImage, loadImage, sleeperImage } from "../support/images.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../support/private-engine.ts";
import { smallDisk, smallDiskUnavailableReason } from "../support/small-disk.ts";
import { listContainers } from "../support/system/engine-containers.ts";
import { waitFor } from "../support/wait-for.ts";

const noEngine = await privateEngineUnavailableReason();
const noDisk = noEngine ?? (await smallDiskUnavailableReason());
const unless = (missing: string | undefined): string => (missing === undefined ? "" : ` (skipped: ${missing})`);

describe.skipIf(noEngine !== undefined)(`a device in trouble${unless(noEngine)}`, () => {
  const owned = new AsyncDisposableStack();
  let engine: PrivateEngine;
  let image: LoadedImage;
  beforeAll(async () => {
    engine = owned.use(await PrivateEngine.start());
    image = owned.use(await loadImage(engine.socketPath, await sleeperImage("trouble"), "trouble"));
  });
  afterAll(() => owned.disposeAsync());

  const sleeper = (system: ChaosSystem): RetryingClient =>
    system.request({ name: system.name(), image: image.reference });

  test.skipIf(noDisk !== undefined)(
    `whose state directory is full ends accepted deployments, refuses new ones, and recovers${unless(noDisk)}`,
    async () => {
      await using disk = await smallDisk(8);
      const agentConfig = { deploy: { settle_window_s: 10 } };
      await using system = await ChaosSystem.start(engine.socketPath, { deviceDirectory: disk.path, agentConfig });
      const accepted = sleeper(system);
      await system.agent.waitForLog("the verification", ({ step }) => step === "verifying");
      const filler = fillDisk(disk.path);
      expect(await accepted.finished).toMatchObject({ status: "Success" });
      // Some of these use up the free pages of the database, then the disk reserve.
      const codes = new Set<string | undefined>();
      for (let attempt = 0; attempt < 20 && !codes.has("InsufficientDisk"); attempt++) {
        codes.add((await sleeper(system).finished).code);
      }
      expect(codes).toContain("InsufficientDisk");
      expect(system.agent.isRunning).toBe(true);
      await rm(filler);
      expect(await sleeper(system).finished).toMatchObject({ status: "Success" });
      await checkInvariants(system);
    },
  );

  test("whose engine hangs in one deployment completes another, and can cancel the first", async () => {
    await using system = await ChaosSystem.start(engine.socketPath);
    let hung = 0;
    system.proxy.intercept(({ path }) => (path === "/containers/create" && hung++ === 0 ? "hang" : "pass"));
    const first = sleeper(system);
    await waitFor("the hung call", () => hung === 1);
    const second = sleeper(system);
    expect(await second.finished).toMatchObject({ status: "Success" });
    expect(first.final).toBeUndefined();
    system.proxy.intercept();
    await first.cancel();
    expect(await first.finished).toMatchObject({ status: "Fail", code: "DeploymentCancelled" });
    await checkInvariants(system);
  });

  test("whose engine was killed restores its apps, also those the engine left stopped", async () => {
    await using system = await ChaosSystem.start(engine.socketPath);
    expect(await sleeper(system).finished).toMatchObject({ status: "Success" });
    await engine.kill();
    await engine.start();
    await checkInvariants(system);
    expect((await listContainers(engine.socketPath)).map(({ State }) => State)).toEqual(["running"]);
  });

  test("whose engine is restarted during a deployment completes it", async () => {
    await using system = await ChaosSystem.start(engine.socketPath, {
      agentConfig: { deploy: { settle_window_s: 10 } },
    });
    const client = sleeper(system);
    await system.agent.waitForLog("the verification", ({ step }) => step === "verifying");
    await engine.stop();
    await engine.start();
    expect(await client.finished).toMatchObject({ status: "Success" });
    await checkInvariants(system);
  });
});
