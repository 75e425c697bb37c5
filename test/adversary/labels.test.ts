import { rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LABELS } from "../../src/agent/core/app/container.ts";
import { freeHostPort } from "../support/free-port.ts";
import { sleeperImage, webImage, WEB_PORT } from "../support/images.ts";
import { page } from "../support/system/app-page.ts";
import type { LogLine } from "../support/system/executable.ts";
import { EngineUser } from "../support/system/engine-user.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

const system = sharedSystem();
const hand = () => new EngineUser(system().engineSocket);

/** Deploys an app of the image and answers its container's id. */
async function deployed(name: string, image: string, more: object = {}): Promise<{ id: string; deploymentId: string }> {
  const { final, deploymentId } = await system().deploy({ name, image, ...more });
  expect(final).toMatchObject({ status: "Success" });
  const { Id: id } = await system().inspect(deploymentId);
  return { id, deploymentId };
}

async function change(method: string, app: string, action?: string, body?: unknown) {
  return (await system().finish(await system().change(method, app, action, body))).final;
}

async function untilRepaired(app: string): Promise<void> {
  const isIt = (line: LogLine): boolean => line.msg === "app repaired" && line["app"] === app;
  await system().agent.waitForLog(`the repair of ${app}`, isIt, 60_000);
}

/** Waits until the keeper has looked at everything there is, from its repairs to its sweep, and once more. */
async function untilLookedAfter(image: string): Promise<void> {
  const name = system().name("witness");
  await deployed(name, image);
  for (let round = 0; round < 2; round++) {
    await system().agent.stop();
    await hand().remove(name);
    await system().agent.start();
    await untilRepaired(name);
  }
  expect(await change("DELETE", name)).toMatchObject({ status: "Success" });
}

/** The agent starts without what it remembers, and has looked for its apps when this resolves. */
async function loseStore(): Promise<void> {
  const { agent } = system();
  await agent.stop();
  for (const suffix of ["", "-wal", "-shm"]) await rm(join(agent.stateDir, `agent.db${suffix}`), { force: true });
  await agent.start();
  await waitFor("the apps to be looked for", () => !existsSync(join(agent.stateDir, "rebuild")));
}

/** Labels of somebody else's image that look like the agent's. */
const labelsOf = (app: string) => ({
  [LABELS.app]: app,
  [LABELS.deployment]: `dep_of_${app}`,
  [LABELS.stateDir]: system().agent.stateDir,
  [LABELS.image]: "localhost/anything:1",
});

/** An app, and a container of what was committed from it, under a name of its own. */
async function withCopy() {
  const image = await system().load(await webImage());
  const [name, port] = [system().name(), await freeHostPort()];
  const ports = [{ host_port: port, target_port: WEB_PORT }];
  const { id } = await deployed(name, image, { ports });
  const copy = await hand().commit(id, system().name("copy"));
  return { image, name, port, ports, id, copyId: await hand().run(system().name("lab"), copy) };
}

test("a committed copy of an app's container is not the app: the keeper removes neither", async () => {
  const { image, port, id, copyId } = await withCopy();
  await untilLookedAfter(image);
  expect({ app: await hand().status(id), copy: await hand().status(copyId) }).toEqual({
    app: "running",
    copy: "running",
  });
  expect(await page(port)).toContain("edge-agent test app");
});

test("whatever is done to the app, also its removal, a committed copy runs on", async () => {
  const { image, name, ports, copyId } = await withCopy();
  for (const [method, action, body] of [
    ["POST", "restart", undefined],
    ["PATCH", undefined, { environments: [{ key: "GREETING", value: "again" }] }],
    ["POST", "stop", undefined],
    ["DELETE", undefined, undefined],
  ] as const) {
    expect(await change(method, name, action, body)).toMatchObject({ status: "Success" });
    expect([method, action, await hand().status(copyId)]).toEqual([method, action, "running"]);
  }
  // What is left of it to somebody is no app, and in nobody's way.
  await deployed(name, image, { ports });
  expect(await hand().status(copyId)).toBe("running");
  await untilLookedAfter(image);
  expect(await hand().status(copyId)).toBe("running");
});

test("what somebody saved of an app that was removed stays, also under the app's own name", async () => {
  const image = await system().load(await sleeperImage());
  const name = system().name();
  const { id } = await deployed(name, image);
  const copy = await hand().commit(id, system().name("saved"));
  expect(await change("DELETE", name)).toMatchObject({ status: "Success" });
  const savedId = await hand().run(name, copy);
  await untilLookedAfter(image);
  expect(await hand().status(savedId)).toBe("running");
  expect((await system().deploy({ name, image })).final).toMatchObject({ status: "Fail", code: "ErrorNameExists" });
  expect(await hand().status(savedId)).toBe("running");
});

test("after a lost store an app is found again without anything that its image's labels claim", async () => {
  const name = system().name();
  const extras = JSON.stringify({ devices: [{ local: "/dev/kmsg", target: "/dev/kmsg", permissions: "rwm" }] });
  const image = await system().load(
    await sleeperImage("evil", {
      ...labelsOf("other"),
      [LABELS.extras]: extras,
      [LABELS.previousImage]: "sha256:of-somebody",
      [LABELS.specHash]: "0",
    }),
  );
  const { id, deploymentId } = await deployed(name, image);
  const { Config: config } = await system().inspect(deploymentId);
  for (const label of Object.values(LABELS)) expect([label, config.Labels[label]]).not.toEqual([label, extras]);
  await loseStore();
  // It was found again: its container is made anew from what is known of it.
  await system().agent.stop();
  await hand().remove(id);
  await system().agent.start();
  await untilRepaired(name);
  const { HostConfig: host } = await system().inspect(deploymentId);
  expect(host["Devices"] ?? []).toEqual([]);
});

test("a person's container of an image with labels like the agent's is not adopted, not removed, and no app", async () => {
  const [app, other] = [system().name(), system().name()];
  const own = await system().load(await sleeperImage("own", labelsOf(app)));
  const elsewhere = await system().load(await sleeperImage("elsewhere", labelsOf(other)));
  const image = await system().load(await sleeperImage());
  const [underItsName, underAnother] = [await hand().run(app, own), await hand().run(system().name("lab"), elsewhere)];
  await loseStore();
  await untilLookedAfter(image);
  expect([await hand().status(underItsName), await hand().status(underAnother)]).toEqual(["running", "running"]);
  for (const name of [app, other]) {
    expect(await change("DELETE", name)).toMatchObject({ status: "Fail", code: "AppNotFound" });
  }
  expect([await hand().status(underItsName), await hand().status(underAnother)]).toEqual(["running", "running"]);
  // The name that is free is free.
  await deployed(other, image);
});
