import { afterAll, beforeAll, expect, test } from "vitest";
import { isFinal } from "../../src/protocol/deployments/deployment-event.ts";
import { freeHostPort } from "../support/free-port.ts";
import { bigImage, healthImage, sleeperImage, webImage, WEB_PORT } from "../support/images.ts";
import { SilentServer } from "../support/link/silent-server.ts";
import { Registry } from "../support/registry.ts";
import { SlowLink } from "../support/slow-link.ts";
import { page } from "../support/system/app-page.ts";
import { sharedSystem } from "../support/system/test-system.ts";

const system = sharedSystem();

let registry: Registry;
beforeAll(async () => {
  registry = await Registry.start();
});
afterAll(() => registry[Symbol.asyncDispose]());

async function push(...args: Parameters<Registry["push"]>): Promise<string> {
  return system().removeImageLater(await registry.push(...args));
}

test("a pull reports its progress at most about once a second", async () => {
  await using link = await SlowLink.to(registry.port, 200_000);
  const pushed = await registry.push(await bigImage(8), "team/big:1");
  const image = system().removeImageLater(pushed.replace(registry.host, link.host));
  const began = performance.now();
  const stream = await system().open({ name: system().name(), image });
  await stream.until("a second report", () => stream.events.filter(({ bytes }) => bytes !== undefined).length >= 2);
  link.bytesPerSecond = 2_500_000;
  const { events, final } = await system().finish(stream);
  const seconds = (performance.now() - began) / 1000;
  expect(final.status).toBe("Success");
  const progress = events.filter(({ bytes }) => bytes !== undefined);
  expect(progress.length).toBeGreaterThanOrEqual(2);
  expect(progress.length).toBeLessThanOrEqual(seconds + 1);
  let last = 0;
  for (const { step, progress: percent = -1, bytes: { done, total } = { done: -1, total: -1 } } of progress) {
    expect(step).toBe("pulling");
    expect(percent).toBeGreaterThanOrEqual(last);
    expect(percent).toBeLessThanOrEqual(100);
    expect(done).toBeLessThanOrEqual(total);
    last = percent;
  }
  expect(progress.at(-1)?.bytes?.total).toBeGreaterThan(8_000_000);
});

test("an image with a health check is deployed once it is healthy", async () => {
  const image = await push(await healthImage(1), "team/healthy:1");
  const { final, deploymentId } = await system().deploy({ name: system().name(), image });
  expect(final.status).toBe("Success");
  expect(await system().inspect(deploymentId)).toMatchObject({ State: { Health: { Status: "healthy" } } });
});

test("hanging registries do not delay unrelated deployments", async () => {
  await using hung = await SilentServer.start();
  const stuck = await Promise.all(
    ["one", "two"].map((app) =>
      system().open({ name: system().name(), image: `127.0.0.1:${hung.port}/team/${app}:1` }),
    ),
  );
  for (const stream of stuck) await stream.event("pulling", ({ step }) => step === "pulling");
  const image = await push(await sleeperImage(), "team/not-stuck:1");
  const { final } = await system().deploy({ name: system().name(), image });
  expect(final.status).toBe("Success");
  expect(stuck.every(({ events }) => !events.some(isFinal))).toBe(true);
  const headers = { "X-API-Key": system().account.apiKey };
  for (const { deploymentId } of stuck)
    await fetch(system().deploymentUrl(deploymentId), { method: "DELETE", headers });
  for (const stream of stuck) expect((await system().finish(stream)).final.code).toBe("DeploymentCancelled");
});

test("`latest` is resolved each time, and the present image is used if the registry is unreachable", async () => {
  const deployed = async (): Promise<{ messages: string[]; text: string }> => {
    const port = await freeHostPort();
    const ports = [{ host_port: port, target_port: WEB_PORT }];
    const { final, events } = await system().deploy({ name: system().name(), image, ports });
    expect(final.status).toBe("Success");
    return { messages: events.map(({ message }) => message), text: await page(port) };
  };
  const image = await push(await webImage("1"), "team/moving:latest");
  expect((await deployed()).text).toContain("version 1");
  await push(await webImage("2"), "team/moving:latest");
  expect((await deployed()).text).toContain("version 2");
  await registry.stop();
  try {
    const { messages, text } = await deployed();
    expect(text).toContain("version 2");
    expect(messages).toContainEqual(
      expect.stringMatching(/^The registry cannot be asked .*; using the image that is on the device\.$/),
    );
  } finally {
    await registry.resume();
  }
});

test("a present image with a fixed tag or digest is used without the registry", async () => {
  const tagged = await push(await sleeperImage("fixed"), "team/fixed:1");
  const digest = await registry.digest("team/fixed:1");
  const byDigest = system().removeImageLater(`${registry.host}/team/fixed@${digest}`);
  for (const image of [tagged, byDigest]) {
    expect((await system().deploy({ name: system().name(), image })).final.status).toBe("Success");
  }
  await registry.stop();
  try {
    for (const image of [tagged, byDigest]) {
      const { final, events } = await system().deploy({ name: system().name(), image });
      expect(final.status).toBe("Success");
      expect(events.map(({ message }) => message)).toContain(`Image ${image} is already on the device.`);
    }
  } finally {
    await registry.resume();
  }
});
