import { afterEach, beforeEach, expect, test } from "vitest";
import type { DeploymentOutcome } from "../../../src/protocol/deployments/deployment-outcome.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { type EventStream, openStream } from "../../support/event-stream.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice, type FakeDeviceOptions } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";

/* Devices that reconnect without a deployment that is unfinished on record, and the outcome they report. */

let clock: FakeClock;
let control: ControlPlane;
let account: TestAccount;

beforeEach(async () => {
  clock = new FakeClock();
  control = await startControlPlane({ clock });
  account = await control.account();
});
afterEach(() => control[Symbol.asyncDispose]());

interface Begun {
  readonly stream: EventStream;
  readonly id: string;
  readonly back: (options?: FakeDeviceOptions) => Promise<FakeDevice>;
}

/** A deployment that its device has acknowledged before the connection was lost. */
async function begun(): Promise<Begun> {
  const { uuid, deviceToken } = await control.asset(account);
  const device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const stream = await openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, {
    apiKey: account.apiKey,
    body: { name: "web", image: "web:1" },
  });
  const id = stream.deploymentId;
  device.event(id, { step: "pulling" });
  await device.next("event_ack");
  await device.cut();
  await stream.event("the loss", ({ details }) => details?.["connection"] === "lost");
  return { stream, id, back: (options) => FakeDevice.connect(control.agentUrl, deviceToken, options) };
}

/** The final event of the stream, and whether the device was told to cancel. */
async function outcome(stream: EventStream, device: FakeDevice) {
  await stream.ended;
  await device.flushed();
  const { status, code, details } = stream.events.at(-1) ?? {};
  return { status, code, details, isRolledBack: device.received.some(({ type }) => type === "cancel") };
}

test("an end that the device has on record is taken over, and nothing is cancelled", async () => {
  for (const said of [
    { status: "Success", message: "App web is running." },
    { status: "Fail", message: "It is unhealthy.", code: "Unhealthy" },
  ] as const) {
    const { stream, id, back } = await begun();
    const outcomes: DeploymentOutcome[] = [{ deployment_id: id, ...said }];
    await using device = await back({ outcomes });
    const { status, code } = { code: undefined, ...said };
    expect(await outcome(stream, device)).toEqual({ status, code, details: { recovered: true }, isRolledBack: false });
    expect(stream.events.at(-1)?.message.startsWith(said.message)).toBe(true);
    expect(stream.events.map(({ details }) => details?.["connection"]).filter(Boolean)).toEqual(["lost", "restored"]);
  }
});

test("a device without a record of the deployment is told to cancel it", async () => {
  const { stream, back } = await begun();
  await using device = await back();
  expect(await device.next("cancel")).toMatchObject({ reason: "unknown" });
  expect(await outcome(stream, device)).toMatchObject({ status: "Fail", code: "Internal", isRolledBack: true });
});

test("a device that does not answer is queried again, and at the deadline nothing is cancelled", async () => {
  const { stream, back } = await begun();
  await using device = await back({ outcomes: false });
  await device.next("query");
  await clock.advance(10_000);
  // The pong has reached the service once a later frame has been answered.
  await device.flushed();
  await device.flushed();
  await clock.advance(30_000);
  expect(await device.next("query")).toMatchObject({ what: "deployments" });
  await clock.advance(900_000);
  expect(await outcome(stream, device)).toMatchObject({
    status: "Fail",
    code: "DeploymentTimeout",
    isRolledBack: false,
  });
});

const questions = (device: FakeDevice): number => device.received.filter(({ type }) => type === "query").length;

test("an invalid answer counts as none", async () => {
  const { stream, id, back } = await begun();
  await using device = await back({ outcomes: false });
  for (const body of [{ deployments: "all" }, { deployments: [] }, null]) {
    device.answer((await device.next("query")).query_id, body);
    const asked = questions(device);
    await waitFor("another question", async () => {
      await clock.advance(5_000);
      await device.flushed();
      return questions(device) > asked;
    });
  }
  const answer = { deployments: [{ deployment_id: id, status: "Success" }] };
  device.answer((await device.next("query")).query_id, answer);
  expect(await outcome(stream, device)).toMatchObject({ status: "Success", isRolledBack: false });
});

test("a cancellation during the query: the device's record decides", async () => {
  const { stream, id, back } = await begun();
  await using device = await back({ outcomes: false });
  const { query_id: queryId } = await device.next("query");
  const asset = stream.events[0] && (await control.store.deployments.findDeployment(id))?.assetUuid;
  const url = `${control.url}/v1/assets/${asset}/edge/deployments/${id}`;
  const cancelled = await fetch(url, { method: "DELETE", headers: { "X-API-Key": account.apiKey } });
  expect(cancelled.ok).toBe(true);
  device.answer(queryId, { deployments: [{ deployment_id: id, status: "Success" }] });
  expect(await outcome(stream, device)).toMatchObject({ status: "Success", isRolledBack: false });
});

test("a deployment that became overdue while the service was down ends as its device reports", async () => {
  const { id, back } = await begun();
  await control.restart();
  clock.jump(24 * 3_600_000);
  await control.restart();
  await using device = await back({ outcomes: [{ deployment_id: id, status: "Success" }] });
  await device.next("query");
  const record = await waitFor("its end", async () => {
    const found = await control.store.deployments.findDeployment(id);
    return found?.state.kind === "ended" ? found : undefined;
  });
  expect(record).toMatchObject({ state: { status: "Success" } });
});

test("a device that does not answer gets no more queries with each retry", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  const device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const url = `${control.url}/v1/assets/${uuid}/edge/apps`;
  const ids: string[] = [];
  for (let index = 0; index < 51; index++) {
    const body = { name: `app-${index}`, image: "web:1" };
    const stream = await openStream(url, { apiKey: account.apiKey, body });
    ids.push(stream.deploymentId);
    device.event(stream.deploymentId, { step: "pulling" });
    await device.next("event_ack");
  }
  await device.cut();
  await using back = await FakeDevice.connect(control.agentUrl, deviceToken, { outcomes: false });
  for (let round = 1; round <= 3; round++) {
    for (const each of [await back.next("query"), await back.next("query")]) back.endQuery(each.query_id, "Internal");
    await back.flushed();
    await back.flushed();
    await clock.advance(30_000);
    await waitFor("the next questions", async () => {
      await back.flushed();
      return questions(back) >= 2 * round + 2;
    });
    await back.flushed();
    expect(questions(back)).toBe(2 * round + 2);
  }
});

test("a deployment cancelled before the device had answered is queried and then cancelled when it is back", async () => {
  const { stream, id, back } = await begun();
  const first = await back({ outcomes: false });
  await first.next("query");
  const asset = (await control.store.deployments.findDeployment(id))?.assetUuid;
  const url = `${control.url}/v1/assets/${asset}/edge/deployments/${id}`;
  await fetch(url, { method: "DELETE", headers: { "X-API-Key": account.apiKey } });
  await first.cut();
  await waitFor("the loss", async () => {
    const { connection } = (await control.store.deployments.findDeployment(id)) ?? {};
    return connection?.epoch === 2 && connection.isLost;
  });
  await clock.advance(60_000);
  await stream.ended;
  expect(stream.events.at(-1)).toMatchObject({ code: "DeploymentCancelled" });
  const lost = await back();
  expect(await lost.next("cancel")).toMatchObject({ deployment_id: id, reason: "requested" });
  await lost.cut();
  await using again = await back();
  await again.flushed();
  expect(questions(again)).toBe(0);
});

test.each([
  (id: string) => ({ type: "ack", deployment_id: id }),
  (id: string) => ({ type: "refuse", deployment_id: id, code: "Internal", message: "x" }),
])("a frame about a deployment without a record is not a bad frame", async (frame) => {
  const { deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  for (let index = 0; index < 50; index++) device.send(frame(`dep_gone_${index}`));
  device.event("dep_last", {});
  await device.next("event_ack");
  expect(device.isClosed).toBe(false);
});
