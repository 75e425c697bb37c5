import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import type { Engine, TrialRequest } from "../../../src/agent/engine/engine.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { freeHostPort } from "../../support/free-port.ts";
import { loadImage, sleeperImage, uniqueName } from "../../support/images.ts";
import {
  PrivateEngine,
  type PrivateEngineOptions,
  privateEngineUnavailableReason,
} from "../../support/private-engine.ts";
import { currentDockers } from "../../support/private-engine/current-docker.ts";

const unaborted = new AbortController().signal;
const missing = await privateEngineUnavailableReason();
const dockers: readonly {
  readonly title: string;
  readonly missing: string | undefined;
  readonly engine: PrivateEngineOptions;
}[] = [{ title: "the machine's Docker", missing, engine: {} }, ...(await currentDockers())];

describe.each(dockers)("$title, with a firewall of its own", ({ missing: reason, engine: options }) => {
  describe.skipIf(reason !== undefined)("where the device has lost what it needs", () => {
    let host: PrivateEngine;
    let engine: Engine;
    let request: TrialRequest;

    beforeAll(async () => {
      host = await PrivateEngine.start({ ...options, ownNetwork: true });
      engine = createDockerEngine({ socketPath: () => host.socketPath, clock: systemClock });
      const { reference } = await loadImage(host.socketPath, await sleeperImage(), "sleeper");
      await engine.networks.create({ name: "edge-agent", labels: {} }, unaborted);
      request = {
        name: uniqueName("app"),
        image: reference,
        labels: {},
        environment: [],
        ports: [{ hostPort: await freeHostPort(), targetPort: 80 }],
        volumes: [],
        hostNetwork: false,
        network: { name: "edge-agent", aliases: ["app"] },
        privileged: false,
        restartPolicy: "no",
        logLimit: { maxBytes: 100_000, maxFiles: 1 },
      };
    });
    afterAll(() => host?.[Symbol.asyncDispose]());

    test("a trial says so while the app serves, and a restart of the engine ends it", async () => {
      const id = await engine.createContainer(request, unaborted);
      await engine.startContainer(id, unaborted);
      await engine.tryStart(request, unaborted);
      // Of its classic image store alone.
      const isClassic = options.imageStore !== "containerd";
      expect((await engine.info(unaborted)).maxLayers).toBe(isClassic ? 125 : undefined);

      await host.flushFirewall();
      await expect(engine.tryStart(request, unaborted)).rejects.toMatchObject({ kind: "rules_lost" });
      expect(await engine.inspectContainer(id, unaborted)).toMatchObject({ status: "running" });
      await engine.stopContainer(id, 0, unaborted);
      await expect(engine.startContainer(id, unaborted)).rejects.toMatchObject({ kind: "rules_lost" });

      await host.stop();
      await host.start();
      await engine.tryStart(request, unaborted);

      const bridges = JSON.parse(await host.inNetwork("ip", "-json", "link")) as readonly { readonly ifname: string }[];
      const bridge = bridges.find(({ ifname }) => ifname.startsWith("br-"))!.ifname;
      await host.inNetwork("ip", "link", "delete", bridge);
      await expect(engine.tryStart(request, unaborted)).rejects.toMatchObject({ kind: "bridge_lost" });
    });
  });
});
