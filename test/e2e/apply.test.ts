import { expect, test } from "vitest";
import type { ApplyRequestInput } from "../../src/protocol/apps/apply.ts";
import type { DeploymentEvent } from "../../src/protocol/deployments/deployment-event.ts";
import { openStream } from "../support/event-stream.ts";
import { freeHostPort } from "../support/free-port.ts";
import { crashLoopImage, webImage, WEB_PORT } from "../support/images.ts";
import type { Deployed } from "../support/system.ts";
import { page } from "../support/system/app-page.ts";
import { sharedSystem } from "../support/system/test-system.ts";

const system = sharedSystem();

const open = (body: ApplyRequestInput, query = "") =>
  openStream(`${system().control.url}/v1/assets/${system().asset.uuid}/edge/apply${query}`, {
    method: "POST",
    apiKey: system().account.apiKey,
    body,
  });
const apply = async (body: ApplyRequestInput, query = ""): Promise<Deployed> =>
  system().finish(await open(body, query));

/** A project of two web apps, of which the second depends on the first. */
async function applied() {
  const [project, first, second] = [system().name("project"), system().name("first"), system().name("second")];
  const [one, two] = [await system().load(await webImage()), await system().load(await webImage("2"))];
  const ports = { [first]: await freeHostPort(), [second]: await freeHostPort() };
  const app = (name: string, image: string) => ({
    name,
    image,
    pull: "missing" as const,
    ports: [{ host_port: ports[name] ?? 0, target_port: WEB_PORT }],
  });
  const depends_on = [{ app: first, condition: "healthy" as const }];
  const apps = (images: readonly [string, string]): ApplyRequestInput["apps"] => [
    { app: app(second, images[1]), depends_on },
    { app: app(first, images[0]) },
  ];
  const { final } = await apply({ project, apps: apps([one, one]) });
  expect(final).toMatchObject({ status: "Success", details: { changed: [first, second] } });
  const pages = async (): Promise<string[]> => [await page(ports[first] ?? 0), await page(ports[second] ?? 0)];
  return { project, first, second, one, two, ports, apps, app, pages };
}

test("apps are applied, changed as the dry run said, and pruned", async () => {
  const { project, first, second, one, two, ports, apps, app, pages } = await applied();
  const request = { project, apps: apps([one, two]) };
  const dry = await apply(request, "?dry_run=true");
  expect(dry.final.details).toMatchObject({
    plan: [
      { app: first, change: "none" },
      { app: second, change: "update", fields: ["image"] },
    ],
  });
  const { final, events } = await apply({ ...request, expect: String(dry.final.details?.["plan_hash"]) });
  expect(final).toMatchObject({ status: "Success", details: { changed: [second], unchanged: [first] } });
  expect(events.some((event) => event.app === second && event.step === "verifying")).toBe(true);
  const [before, after] = await pages();
  expect(before).toContain("version 1");
  expect(after).toContain("version 2");
  const pruned = await apply({ project, apps: [{ app: app(first, one) }], prune: true });
  expect(pruned.final).toMatchObject({ status: "Success", details: { removed: [second], unchanged: [first] } });
  const gone = fetch(`http://127.0.0.1:${ports[second]}/`);
  await expect(gone).rejects.toThrow("fetch failed");
});

test("a group whose last app fails goes back as a whole, also if the agent is killed in the middle", async () => {
  const { project, first, second, two, apps, pages } = await applied();
  const crasher = await system().load(await crashLoopImage(3));
  const stream = await open({ project, apps: apps([two, crasher]) });
  await stream.until("the first app to be verified", ({ events }) =>
    events.some(({ app, step }) => app === first && step === "verifying"),
  );
  await system().agent.kill();
  await system().agent.start();
  const { final, deploymentId } = await system().finish(stream);
  expect(final).toMatchObject({
    status: "Fail",
    code: "CrashLoopBackOff",
    details: { app: second, exit_code: 3, restored: [first, second] },
  });
  for (const text of await pages()) expect(text).toContain("version 1");
  expect(await system().record(deploymentId)).toMatchObject({ action: "apply", app: project, status: "Fail" });
});

test("an app that a group removes by name comes back when another one of it fails", async () => {
  const { project, first, second, two, app, pages } = await applied();
  const crasher = await system().load(await crashLoopImage(3));
  // After the first one has been changed: otherwise there is nothing of it to restore.
  const after = { depends_on: [{ app: first, condition: "started" as const }] };
  const failing = { app: { ...app(first, crasher), name: system().name("third"), ports: [] }, ...after };
  const { final } = await apply({ project, apps: [{ app: app(first, two) }, failing], remove: [second] });
  expect(final).toMatchObject({ status: "Fail", code: "CrashLoopBackOff", details: { restored: [second, first] } });
  for (const text of await pages()) expect(text).toContain("version 1");
  const removed = await apply({ project, apps: [], remove: [second] });
  expect(removed.final).toMatchObject({ status: "Success", details: { removed: [second] } });
});

test("a group ends once, and as asked for, whenever the service is killed", async () => {
  const { project, first, second, one, two, apps, pages } = await applied();
  // All moments of one app's change: test/chaos/process-kill-changes.test.ts.
  const moments: readonly (readonly [string, (event: DeploymentEvent) => boolean])[] = [
    ["as soon as it is recorded", ({ step }) => step === "received"],
    ["between the two apps", ({ app, step }) => app === first && step === "done"],
    ["when the second app is verified", ({ app, step }) => app === second && step === "verifying"],
  ];
  let [from, to] = [one, two];
  for (const [moment, isReached] of moments) {
    const stream = await open({ project, apps: apps([to, to]) });
    await stream.until(moment, ({ events }) => events.some(isReached));
    await system().control.kill();
    await system().control.start();
    await system().untilOnline();
    const { final, events } = await system().finish(await system().follow(stream.deploymentId));
    // Before the device had acknowledged it, it may have been refused as a whole.
    const isRefused = final.status === "Fail" && moment === moments[0]?.[0];
    if (isRefused) expect(final.code, moment).toBe("DeviceNotReachable");
    else expect(final, moment).toMatchObject({ status: "Success", details: { changed: [first, second] } });
    expect(new Set(events.map(({ seq }) => seq)).size, moment).toBe(events.length);
    const version = (isRefused ? from : to) === two ? "version 2" : "version 1";
    for (const text of await pages()) expect(text, moment).toContain(version);
    if (!isRefused) [from, to] = [to, from];
  }
});

test("a group goes on while its device is away, and can be cancelled", async () => {
  const { project, first, one, two, apps, pages } = await applied();
  const away = await open({ project, apps: apps([two, two]) });
  await away.until("the first app to be verified", ({ events }) =>
    events.some(({ app, step }) => app === first && step === "verifying"),
  );
  system().link.cut();
  const { final } = await system().finish(away);
  expect(final).toMatchObject({ status: "Success" });
  for (const text of await pages()) expect(text).toContain("version 2");
  // The verification waits for a check that is never run. The previous versions have none.
  const healthcheck = { command: ["true"], interval_s: 3600 };
  const waiting = apps([one, one]);
  for (const each of waiting) Object.assign(each.app, { healthcheck });
  const stream = await open({ project, apps: waiting });
  await stream.until("the first app to be verified", ({ events }) =>
    events.some(({ app, step }) => app === first && step === "verifying"),
  );
  await fetch(system().deploymentUrl(stream.deploymentId), {
    method: "DELETE",
    headers: { "X-API-Key": system().account.apiKey },
  });
  expect((await system().finish(stream)).final.code).toBe("DeploymentCancelled");
  for (const text of await pages()) expect(text).toContain("version 2");
});
