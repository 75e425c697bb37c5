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

/** Deploys an app of the image and returns its container's id. */
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
  const isRepair = (line: LogLine): boolean => line.msg === "app repaired" && line["app"] === app;
  await system().agent.waitForLog(`the repair of ${app}`, isRepair);
}

/** Waits until the reconciler has completed a full round, from repairs to cleanup, and begun another. */
async function untilReconciled(image: string): Promise<void> {
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

/** Restarts the agent without its store. Resolves when it has searched for its apps. */
async function loseStore(): Promise<void> {
  const { agent } = system();
  await agent.stop();
  for (const suffix of ["", "-wal", "-shm"]) await rm(join(agent.stateDir, `agent.db${suffix}`), { force: true });
  await agent.start();
  await waitFor("the apps to be looked for", () => !existsSync(join(agent.stateDir, "rebuild")));
}

/** Labels of a foreign image that look like the agent's. */
const labelsOf = (app: string) => ({
  [LABELS.app]: app,
  [LABELS.deployment]: `dep_of_${app}`,
  [LABELS.stateDir]: system().agent.stateDir,
  [LABELS.image]: "localhost/anything:1",
});

/** Deploys an app, commits its container to an image and runs that under another name. */
async function withCopy() {
  const image = await system().load(await webImage());
  const [name, port] = [system().name(), await freeHostPort()];
  const ports = [{ host_port: port, target_port: WEB_PORT }];
  const { id } = await deployed(name, image, { ports });
  const copy = await hand().commit(id, system().name("copy"));
  return { image, name, port, ports, id, copyId: await hand().run(system().name("lab"), copy) };
}

test("the reconciler removes neither an app nor a committed copy of its container", async () => {
  const { image, port, id, copyId } = await withCopy();
  await untilReconciled(image);
  expect({ app: await hand().status(id), copy: await hand().status(copyId) }).toEqual({
    app: "running",
    copy: "running",
  });
  expect(await page(port)).toContain("edge-agent test app");
});

test("a committed copy keeps running through every change of the app, also its removal", async () => {
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
  // The remaining copy is no app and does not conflict with one.
  await deployed(name, image, { ports });
  expect(await hand().status(copyId)).toBe("running");
  await untilReconciled(image);
  expect(await hand().status(copyId)).toBe("running");
});

test("a copy of a removed app stays, also under the app's own name", async () => {
  const image = await system().load(await sleeperImage());
  const name = system().name();
  const { id } = await deployed(name, image);
  const copy = await hand().commit(id, system().name("saved"));
  expect(await change("DELETE", name)).toMatchObject({ status: "Success" });
  const savedId = await hand().run(name, copy);
  await untilReconciled(image);
  expect(await hand().status(savedId)).toBe("running");
  expect((await system().deploy({ name, image })).final).toMatchObject({ status: "Fail", code: "ErrorNameExists" });
  expect(await hand().status(savedId)).toBe("running");
});

test("after the loss of the store an app is adopted without anything that its image's labels claim", async () => {
  const name = system().name();
  const extras = JSON.stringify({ devices: [{ local: "/dev/kmsg", target: "/dev/kmsg", permissions: "rwm" }] });
  const image = await system().load(
    await sleeperImage("evil", {
      ...labelsOf("other"),
      [LABELS.extras]: extras,
      [LABELS.secretVariables]: "[]",
      [LABELS.previousImage]: "sha256:of-somebody",
      [LABELS.specHash]: "0",
    }),
  );
  const environments = [
    { key: "TOKEN", value: "planted-token", secret: true },
    { key: "MODE", value: "server" },
  ];
  const command = ["/bin/sh", "-c", 'echo "$TOKEN in $MODE"; exec sleep 2147483'];
  const { id, deploymentId } = await deployed(name, image, { environments, command });
  const { Config: config } = await system().inspect(deploymentId);
  for (const label of Object.values(LABELS)) expect([label, config.Labels[label]]).not.toEqual([label, extras]);
  await loseStore();
  // It was adopted: its container is recreated from the stored specification.
  await system().agent.stop();
  await hand().remove(id);
  await system().agent.start();
  await untilRepaired(name);
  const { HostConfig: host } = await system().inspect(deploymentId);
  expect(host["Devices"] ?? []).toEqual([]);
  // What it was declared to keep secret still is.
  const { control, asset, account } = system();
  const log = await waitFor("the app's log", async () => {
    const url = `${control.url}/v1/assets/${asset.uuid}/edge/apps/${name}/logs?tail=10`;
    const text = await (await fetch(url, { headers: { "X-API-Key": account.apiKey } })).text();
    return text.includes(" in ") && text;
  });
  expect(log).toContain("*** in server");
});

test("a foreign container of an image with labels like the agent's is not adopted, removed or listed as an app", async () => {
  const [app, other] = [system().name(), system().name()];
  const own = await system().load(await sleeperImage("own", labelsOf(app)));
  const elsewhere = await system().load(await sleeperImage("elsewhere", labelsOf(other)));
  const image = await system().load(await sleeperImage());
  const [underItsName, underAnother] = [await hand().run(app, own), await hand().run(system().name("lab"), elsewhere)];
  await loseStore();
  await untilReconciled(image);
  expect([await hand().status(underItsName), await hand().status(underAnother)]).toEqual(["running", "running"]);
  for (const name of [app, other]) {
    expect(await change("DELETE", name)).toMatchObject({ status: "Fail", code: "AppNotFound" });
  }
  expect([await hand().status(underItsName), await hand().status(underAnother)]).toEqual(["running", "running"]);
  // The app name is free.
  await deployed(other, image);
});
