import { expect, test } from "vitest";
import { EngineProxy, type CallAction } from "../support/chaos/engine-proxy.ts";
import { dockerSocket } from "../support/docker-socket.ts";
import { sleeperImage } from "../support/images.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../support/private-engine.ts";
import { EngineUser } from "../support/system/engine-user.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

let proxy: EngineProxy;

const system = sharedSystem(async (owned) => {
  const own =
    (await privateEngineUnavailableReason()) === undefined ? owned.use(await PrivateEngine.start()) : undefined;
  const socketPath = own?.socketPath ?? (await dockerSocket());
  if (socketPath === undefined) throw new Error("no Docker engine responds on this machine");
  proxy = owned.use(await EngineProxy.to(socketPath));
  return { engine: proxy };
});

test("an app that is stopped during a reconciliation stays stopped", async () => {
  const hand = new EngineUser(system().engineSocket);
  const image = await system().load(await sleeperImage());
  // Reconciled in the order of their names.
  const [first, stopped, last] = [system().name("a"), system().name("m"), system().name("z")];
  const deployments = new Map<string, string>();
  for (const name of [first, stopped, last]) {
    const { final, deploymentId } = await system().deploy({ name, image });
    expect(final).toMatchObject({ status: "Success" });
    deployments.set(name, deploymentId);
  }
  await system().agent.stop();
  for (const name of [first, stopped, last]) await hand.remove(name);
  const held = Promise.withResolvers<void>();
  let isHeld = false;
  proxy.intercept(async ({ path, phase }): Promise<CallAction> => {
    if (path === "/containers/create" && phase === "before" && !isHeld) {
      isHeld = true;
      await held.promise;
    }
    return "pass";
  });
  await system().agent.start();
  await waitFor("the first repair to begin", () => isHeld);
  const { final } = await system().finish(await system().change("POST", stopped, "stop"));
  expect(final).toMatchObject({ status: "Success" });
  held.resolve();
  const { agent } = system();
  await agent.waitForLog("the round's end", (line) => line.msg === "app repaired" && line["app"] === last);
  expect(await system().containersOf(deployments.get(first)!)).toMatchObject([{ State: "running" }]);
  expect(await system().containersOf(deployments.get(stopped)!)).toEqual([]);
  // It stays so.
  await system().agent.restart();
  expect(await system().containersOf(deployments.get(stopped)!)).toEqual([]);
  const started = await system().finish(await system().change("POST", stopped, "start"));
  expect(started.final).toMatchObject({ status: "Success" });
  expect(await system().containersOf(deployments.get(stopped)!)).toMatchObject([{ State: "running" }]);
});
