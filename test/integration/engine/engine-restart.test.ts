import { describe, expect, onTestFinished, test } from "vitest";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { loadImage, sleeperImage, uniqueName } from "../../support/images.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../../support/private-engine.ts";

const missing = await privateEngineUnavailableReason();
const unaborted = new AbortController().signal;

describe.skipIf(missing !== undefined)(
  `an engine that goes away${missing === undefined ? "" : ` (${missing})`}`,
  () => {
    test("is unavailable meanwhile and used again after, and a loss of power restarts its containers", async () => {
      const host = await PrivateEngine.start();
      onTestFinished(() => host[Symbol.asyncDispose]());
      const engine = createDockerEngine({ socketPath: () => host.socketPath, clock: systemClock });
      const { reference } = await loadImage(host.socketPath, await sleeperImage(), "sleeper");
      const id = await engine.createContainer(
        {
          name: uniqueName("app"),
          image: reference,
          labels: {},
          environment: [],
          ports: [],
          volumes: [],
          hostNetwork: false,
          privileged: false,
          restartPolicy: "unless-stopped",
          logLimit: { maxBytes: 100_000, maxFiles: 1 },
        },
        unaborted,
      );
      await engine.startContainer(id, unaborted);
      await host.powerOff();
      await expect(engine.info(unaborted)).rejects.toMatchObject({ kind: "unavailable" });
      await host.start();
      expect(await engine.inspectContainer(id, unaborted)).toMatchObject({ id, status: "running" });
      await host.stop();
      await expect(engine.listContainers(unaborted)).rejects.toMatchObject({ kind: "unavailable" });
      await host.start();
      expect(await engine.inspectContainer(id, unaborted)).toMatchObject({ id, status: "running" });
    });
  },
);
