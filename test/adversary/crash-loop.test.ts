import { expect, test } from "vitest";
import { run } from "../support/command.ts";
import { EngineProxy } from "../support/chaos/engine-proxy.ts";
import { dockerSocket } from "../support/docker-socket.ts";
import { sleeperImage } from "../support/images.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../support/private-engine.ts";
import { EngineUser } from "../support/system/engine-user.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

/*
 * Whatever brings the agent down whenever it gets there stands for an input that does: the agent is killed with SIGKILL, as by
 * the out-of-memory killer or systemd's watchdog, each time it is about to create a container, and is started again.
 */

let proxy: EngineProxy;

const system = sharedSystem(async (owned) => {
  const own =
    (await privateEngineUnavailableReason()) === undefined ? owned.use(await PrivateEngine.start()) : undefined;
  const socketPath = own?.socketPath ?? (await dockerSocket());
  if (socketPath === undefined) throw new Error("no Docker engine responds on this machine");
  proxy = owned.use(await EngineProxy.to(socketPath));
  return { engine: proxy };
});

/** A loop is told from its end by more kills than any limit allows. */
const MANY = 8;

/** Kills the agent whenever it is about to create a container, and starts it again. */
function killAtCreate(): { readonly kills: number } & Disposable {
  let kills = 0;
  const { agent } = system();
  proxy.intercept(async ({ path, phase }) => {
    if (path !== "/containers/create" || phase !== "before" || kills >= MANY) return "pass";
    kills++;
    await agent.kill();
    agent.launch();
    return "cut";
  });
  return {
    get kills() {
      return kills;
    },
    [Symbol.dispose]: () => proxy.intercept(),
  };
}

test("an update that kills the agent again and again is given up, and what ran before runs on", async () => {
  const name = system().name();
  const image = await system().load(await sleeperImage());
  const { final, deploymentId } = await system().deploy({ name, image });
  expect(final).toMatchObject({ status: "Success" });
  using killing = killAtCreate();
  const body = { environments: [{ key: "VERSION", value: "2" }] };
  const update = await system().finish(await system().change("PATCH", name, undefined, body));
  expect(update.final).toMatchObject({
    status: "Fail",
    code: "AgentCrashed",
    step: "creating",
    details: { agent_crashes: 3, rolled_back: false },
  });
  expect(killing.kills).toBe(3);
  expect(update.events.filter(({ status }) => status !== "Running")).toHaveLength(1);
  expect(await system().containersOf(deploymentId)).toMatchObject([{ State: "running" }]);
  expect(await system().containersOf(update.deploymentId)).toEqual([]);
  // It has forgotten that: the same once more gets the same chances.
  killing[Symbol.dispose]();
  const again = await system().finish(await system().change("PATCH", name, undefined, body));
  expect(again.final).toMatchObject({ status: "Success" });
});

test("a repair that kills the agent again and again pauses, and everybody is told", async () => {
  const { agent, engineSocket } = system();
  const name = system().name();
  const image = await system().load(await sleeperImage());
  const { final, deploymentId } = await system().deploy({ name, image });
  expect(final).toMatchObject({ status: "Success" });
  // Without an unclean end before, such as those of other tests.
  await agent.restart();
  using killing = killAtCreate();
  await new EngineUser(engineSocket).remove(name);
  const explain = async () => (await run("dist/edge-agent", ["app", name, "--config", agent.configFile])).stdout;
  await waitFor("the repair to pause", async () => /Why: +The agent crashed 3 times/.test(await explain()), {
    intervalMs: 500,
  });
  // The first crash tells nothing of what the agent was doing: it was not on record.
  expect(killing.kills).toBe(4);
  // The doctor creates a container, too.
  killing[Symbol.dispose]();
  const status = await run("dist/edge-agent", ["status", "--config", agent.configFile]);
  expect(status.stdout).toMatch(new RegExp(`Pauses .*the agent crashed 3 times during the repair of ${name}`));
  const doctor = await run("dist/edge-agent", ["doctor", "--config", agent.configFile]);
  expect(doctor.stdout).toContain(`The agent crashed 3 times during the repair of ${name}.`);
  const asset = `${system().control.url}/v1/assets/${system().asset.uuid}`;
  const get = async (path: string): Promise<unknown> => {
    const response = await fetch(`${asset}${path}`, { headers: { "X-API-Key": system().account.apiKey } });
    return response.json();
  };
  const paused = `the agent crashed 3 times during the repair of ${name}`;
  await waitFor("the report", async () => JSON.stringify(await get(`/edge/apps/${name}`)).includes(paused));
  expect(await get("")).toMatchObject({ attention: expect.arrayContaining(["app_not_repaired"]) as unknown });
  // Somebody who restarts the agent wants it tried.
  await agent.restart();
  await waitFor("the app to run again", async () => {
    return (await system().containersOf(deploymentId)).some(({ State }) => State === "running");
  });
});

test("a stop is no crash, however often it comes at the same point", async () => {
  const name = system().name();
  const image = await system().load(await sleeperImage());
  const { agent } = system();
  let stops = 0;
  proxy.intercept(async ({ path, phase }) => {
    if (path !== "/containers/create" || phase !== "before" || stops >= 4) return "pass";
    stops++;
    agent.signal("SIGTERM");
    return "hang";
  });
  const deploying = system().deploy({ name, image });
  for (let number = 1; number <= 4; number++) {
    await waitFor(`stop ${number}`, () => stops === number);
    await agent.exited();
    agent.launch();
  }
  expect((await deploying).final).toMatchObject({ status: "Success" });
  proxy.intercept();
});
