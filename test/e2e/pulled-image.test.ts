import { describe, expect, onTestFinished, test } from "vitest";
import { EngineProxy } from "../support/chaos/engine-proxy.ts";
import { dockerSocket } from "../support/docker-socket.ts";
import { bigImage } from "../support/images.ts";
import { Registry } from "../support/registry.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

const socketPath = await dockerSocket();

describe.skipIf(socketPath === undefined)(
  `a deployment with a pull${socketPath === undefined ? " (skipped: no Docker engine)" : ""}`,
  () => {
    let proxy: EngineProxy;
    const system = sharedSystem(async (owned) => {
      proxy = owned.use(await EngineProxy.to(socketPath!));
      return { engine: proxy, agentConfig: { deploy: { settle_window_s: 0 } } };
    });

    test("asks the engine about images no more often than it must", async () => {
      await using registry = await Registry.start();
      const push = async (name: string): Promise<string> =>
        system().removeImageLater(await registry.push(await bigImage(2), name));
      // The agent gets to know the engine and the layers of its images, and makes the network of apps.
      const first = { name: system().name(), image: await push("team/first:1") };
      expect((await system().deploy(first)).final.status).toBe("Success");
      const image = await push("team/big:1");
      const requests: string[] = [];
      proxy.intercept(({ method, path, phase }) => {
        if (phase === "before") requests.push(`${method} ${decodeURIComponent(path)}`);
        return "pass";
      });
      onTestFinished(() => proxy.intercept());
      expect((await system().deploy({ name: system().name(), image })).final.status).toBe("Success");
      await waitFor("the names of loopback to be removed", () =>
        requests.some((request) => /^DELETE .*sha256-\w{64}$/.test(request)),
      );
      proxy.intercept();
      const loopback = /127\.0\.0\.1:\d+\/\w{32}\/team\/big([@:]sha256)[:-]\w{64}/;
      const about = requests
        .filter((request) => request.includes("/images/"))
        // A report looks at images of apps by their ids, and others' images may be new.
        .filter((request) => !/^GET \/images\/sha256:\w{64}\/json$/.test(request))
        .map((request) => request.replace(image, "IMAGE").replace(loopback, "LOOPBACK$1"));
      expect(about).toEqual([
        "GET /images/IMAGE/json",
        "GET /images/json",
        "POST /images/create",
        "GET /images/LOOPBACK@sha256/json",
        "POST /images/LOOPBACK@sha256/tag",
        "DELETE /images/LOOPBACK@sha256",
        "DELETE /images/LOOPBACK:sha256",
      ]);
    });
  },
);
