import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLinuxHost } from "../../src/agent/host/linux-host.ts";
import type { DeploymentEvent } from "../../src/protocol/deployments/deployment-event.ts";
import { bigImage, type Image } from "../support/images.ts";
import { buildImage, fileLayer } from "../support/images/image.ts";
import { LossyLink } from "../support/link/lossy-link.ts";
import { podmanUnavailableReason, startPodman } from "../support/podman-service.ts";
import { PrivateEngine } from "../support/private-engine.ts";
import { newestDocker } from "../support/private-engine/current-docker.ts";
import { Registry } from "../support/registry.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";
import type { System } from "../support/system.ts";

/** Faster than any cellular link. Limits the bytes in flight at a cut to a realistic amount. */
const FAST = 20_000_000;

const podman = await podmanUnavailableReason();
const newest = await newestDocker();
const ENGINES = [
  ["Docker", undefined, () => ({})],
  ["Podman", podman, async (owned: AsyncDisposableStack) => ({ engine: owned.use(await startPodman()) })],
  [
    newest.title,
    newest.missing,
    async (owned: AsyncDisposableStack) => ({ engine: owned.use(await PrivateEngine.start(newest.engine)) }),
  ],
] as const;

describe.each(ENGINES)("%s behind a bad link", (name, missing, setUp) => {
  const skip = missing !== undefined;
  const system = skip ? (): System => expect.unreachable("skipped") : sharedSystem(setUp);
  let registry: Registry;
  beforeAll(async () => void (registry = await Registry.start()));
  afterAll(() => registry[Symbol.asyncDispose]());

  const push = async (image: Image, name: string, link: LossyLink): Promise<string> => {
    return system().removeImageLater((await registry.push(image, name)).replace(registry.host, link.host));
  };

  test.skipIf(skip)("pulls an image over a dozen cuts and two power losses with few additional bytes", async () => {
    const weather = { cutAfter: 1_000_000, bytesPerSecond: 3_000_000 };
    await using link = await LossyLink.to(registry.port, { ...weather, holdAt: 3_000_000 });
    const big = await bigImage(12);
    const stream = await system().open({ name: system().name(), image: await push(big, "team/big:1", link) });
    for (const bytes of [3_000_000, 8_000_000]) {
      link.conditions = { ...weather, holdAt: bytes };
      await waitFor(`${bytes} bytes`, () => link.received >= bytes);
      await system().agent.kill();
      await system().agent.start();
    }
    link.conditions = weather;
    const { events, final } = await system().finish(stream);
    expect(final.status).toBe("Success");
    expect(link.cuts).toBeGreaterThanOrEqual(10);
    expect(link.received).toBeLessThan(compressed(big) * 1.05);
    const resumed = events.filter(({ message }) => message.startsWith("Going on where the download stopped"));
    expect(resumed.length).toBe(2);
    const summary = events.find(({ details }) => details?.["received_bytes"] !== undefined) as DeploymentEvent;
    expect(Number(summary.details?.["cuts"])).toBeGreaterThan(0);
    expect(summary.message).toMatch(/the link was cut (?:once|\d+ times)\.$/);
  });

  test.skipIf(skip)("downloads no layer twice for two images that share it", async () => {
    await using link = await LossyLink.to(registry.port, { bytesPerSecond: FAST });
    const base = await bigImage(5);
    const first = await system().deploy({ name: system().name(), image: await push(base, "team/base:1", link) });
    expect(first.final.status).toBe("Success");
    const before = link.received;
    const own = await fileLayer([{ path: "own", content: "only here" }]);
    const { config } = JSON.parse(base.config.toString()) as { config: object };
    const image = await push(buildImage([...base.layers, own], config), "team/derived:1", link);
    const { final, events } = await system().deploy({ name: system().name(), image });
    expect(final.status).toBe("Success");
    expect(link.received - before).toBeLessThan(20_000);
    expect(events.findLast(({ bytes }) => bytes)?.bytes?.total ?? 0).toBeLessThan(20_000);
  });

  // What follows depends on the agent alone.
  if (name !== "Docker") return;

  test.skipIf(skip)("listens only on loopback, and only while an image is pulled", async () => {
    // So slow that it is under way until somebody has looked.
    await using link = await LossyLink.to(registry.port, { bytesPerSecond: 20_000 });
    const image = await push(await bigImage(3), "team/listening:1", link);
    const stream = await system().open({ name: system().name(), image });
    await stream.event("progress", ({ progress }) => progress !== undefined);
    const during = await listeners(system().agent.pid);
    expect(during.length).toBe(1);
    expect(during[0]?.address).toBe("127.0.0.1");
    link.conditions = { bytesPerSecond: FAST };
    expect((await system().finish(stream)).final.status).toBe("Success");
    expect(await listeners(system().agent.pid)).toEqual([]);
  });

  test.skipIf(skip)("fails a stalled pull with the image's name, and resumes it with the next deployment", async () => {
    await using link = await LossyLink.to(registry.port, { stallAfter: 2_000_000, bytesPerSecond: FAST });
    await system().agent.restart({ deploy: { pull_patience_s: 10, pull_stall_s: 1 } });
    const image = await push(await bigImage(4), "team/stalled:1", link);
    const app = { name: system().name(), image };
    const stream = await system().open(app);
    await waitFor("the link to fall silent", () => link.received >= 2_000_000);
    link.conditions = { cutAfter: 0 };
    const { final } = await system().finish(stream);
    expect(final).toMatchObject({ status: "Fail", code: "ImagePullBackOff", details: { reason: "no_progress" } });
    link.conditions = { bytesPerSecond: FAST };
    const before = link.received;
    expect((await system().deploy(app)).final.status).toBe("Success");
    expect(link.received - before).toBeLessThan(3_500_000);
  });
});

describe("where the configuration leaves downloading to the engine", () => {
  const system = sharedSystem(() => ({ agentConfig: { deploy: { pull: "engine" } } }));

  test("the engine pulls the image, and the agent opens no port for it", async () => {
    await using registry = await Registry.start();
    await using link = await LossyLink.to(registry.port, { bytesPerSecond: 2_000_000 });
    const pushed = await registry.push(await bigImage(3), "team/engine:1");
    const image = system().removeImageLater(pushed.replace(registry.host, link.host));
    const stream = await system().open({ name: system().name(), image });
    await stream.event("progress", ({ progress }) => progress !== undefined);
    expect(await listeners(system().agent.pid)).toEqual([]);
    expect((await system().finish(stream)).final.status).toBe("Success");
  });
});

function compressed(image: Image): number {
  return image.layers.reduce((sum, layer) => sum + layer.compressed.length, 0);
}

/** The listening sockets of the process. */
async function listeners(pid: number) {
  const host = createLinuxHost();
  const signal = AbortSignal.timeout(240_000);
  const all = await host.listeningPorts(signal);
  const held = await Promise.all(
    all.map(async (socket) => ({ socket, holder: await host.findPortHolder(socket, signal) })),
  );
  return held.filter(({ holder }) => holder?.pid === pid).map(({ socket }) => socket);
}
