import { describe, expect, onTestFinished, test } from "vitest";
import { timingsOf } from "../../src/protocol/deployments/deployment-timings.ts";
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
      // The agent gets to know the engine, and makes the network of apps.
      expect((await system().deploy(await app(image))).final.status).toBe("Success");
      const requests: string[] = [];
      proxy.intercept(({ method, path, phase }) => {
        if (phase === "before") requests.push(`${method} ${path}`);
        return "pass";
      });
      onTestFinished(() => proxy.intercept());
      const { final } = await system().deploy(await app(image));
      proxy.intercept();
      expect(final.status).toBe("Success");
      const [, id] = /POST \/containers\/(\w{64})\/start/.exec(requests.join("\n")) ?? [];
      // In between come a report and the reconciler's look after the first app: they list, and look at its container.
      const ofOthers = /^GET \/(?:containers\/json|images\/sha256%3A\w+\/json|networks|info|version)$/;
      const own = requests.filter((request) => {
        const isOther = /^GET \/containers\/\w{64}\/json$/.test(request) && !request.includes(String(id));
        return !isOther && !ofOthers.test(request);
      });
      expect(requests).toContain("GET /containers/json");
      // The next report may have looked at the new container by now, too.
      expect(own.slice(0, 5).map((request) => request.replace(/networks\/.*/, "networks/…"))).toEqual([
        `GET /images/${image.split("/").map(encodeURIComponent).join("/")}/json`,
        "GET /networks/…",
        "POST /containers/create",
        `POST /containers/${id}/start`,
        `GET /containers/${id}/json`,
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
