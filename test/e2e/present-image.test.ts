import { describe, expect, onTestFinished, test } from "vitest";
import { timingsOf } from "../../src/protocol/deployment-timings.ts";
import { EngineProxy } from "../support/chaos/engine-proxy.ts";
import { dockerSocket } from "../support/docker-socket.ts";
import { freeHostPort } from "../support/free-port.ts";
import { webImage, WEB_PORT } from "../support/images.ts";
import { sharedSystem } from "../support/system/test-system.ts";

const socketPath = await dockerSocket();

describe.skipIf(socketPath === undefined)(
  `a deployment of a present image${socketPath === undefined ? " (skipped: no Docker engine)" : ""}`,
  () => {
    let proxy: EngineProxy;
    const system = sharedSystem(async (owned) => {
      proxy = owned.use(await EngineProxy.to(socketPath!));
      return { engine: proxy, agentConfig: { deploy: { settle_window_s: 0 } } };
    });
    const app = async (image: string) => {
      const ports = [{ host_port: await freeHostPort(), target_port: WEB_PORT }];
      return { name: system().name(), image, ports };
    };

    test("makes these requests of the engine and no other, and says how long its steps took", async () => {
      const image = await system().load(await webImage());
      // Finds out what the agent remembers of the engine, and makes the network of apps.
      expect((await system().deploy(await app(image))).final.status).toBe("Success");
      const requests: string[] = [];
      proxy.intercept(({ method, path, phase }) => {
        if (phase === "before") requests.push(`${method} ${path.replaceAll(/[0-9a-f]{64}|edge-[\w.-]+/g, "…")}`);
        return "pass";
      });
      onTestFinished(() => proxy.intercept());
      const { final } = await system().deploy(await app(image));
      proxy.intercept();
      expect(final.status).toBe("Success");
      const own = requests.filter((request) => !request.includes("/events"));
      // The first two side by side.
      expect(own.slice(0, 2).toSorted()).toEqual([
        "GET /containers/json",
        `GET /images/${encodeURIComponent(image)}/json`,
      ]);
      expect(own.slice(2, 7)).toEqual([
        "GET /networks/…",
        "POST /containers/create",
        "POST /containers/…/start",
        "GET /containers/…/json",
      ]);
      const timings = timingsOf(final);
      expect(timings?.steps.map(({ step }) => step)).toEqual(["checking", "creating", "starting", "verifying"]);
      for (const { ms, engine_ms: engineMs } of timings?.steps ?? []) {
        expect(engineMs).toBeGreaterThan(0);
        expect(ms).toBeGreaterThanOrEqual(engineMs);
      }
      expect(timings).not.toHaveProperty("since_restart");
    });
  },
);
