import { afterAll, beforeAll, expect, test } from "vitest";
import type { ErrorCode } from "../../../src/protocol/errors/errors.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { type EventStream, openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";

let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

const deploy = (uuid: string, name: string, headers = {}): Promise<EventStream> =>
  openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, {
    apiKey: account.apiKey,
    body: { name, image: "web:1" },
    headers,
  });

const follow = (uuid: string, id: string, after: number): Promise<EventStream> =>
  openStream(`${control.url}/v1/assets/${uuid}/edge/deployments/${id}/events?after=${after}`, {
    apiKey: account.apiKey,
  });

test("many writers, many readers, late and early: every reader sees every event once and in order", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const COUNT = 200;
  const deployments = await Promise.all(
    ["a", "b", "c", "d"].map(async (name) => {
      const stream = await deploy(uuid, name);
      return { stream, id: stream.deploymentId };
    }),
  );
  const readers: { stream: EventStream; after: number; id: string }[] = [];
  for (let seq = 1; seq <= COUNT; seq++) {
    for (const { id } of deployments) {
      device.event(id, { message: String(seq) });
      // Sent twice, like a device that has not received the acknowledgement.
      if (seq % 7 === 0) device.event(id, { message: String(seq), device_seq: seq });
    }
    if (seq % 50 === 0) {
      await device.flushed();
      for (const { id } of deployments) readers.push({ id, after: seq - 25, stream: await follow(uuid, id, seq - 25) });
    }
  }
  for (const { id } of deployments) device.success(id);
  for (const { id, stream } of deployments) readers.push({ id, stream, after: 0 });
  for (const { id } of deployments) readers.push({ id, after: 0, stream: await follow(uuid, id, 0) });
  for (const { stream, after, id } of readers) {
    expect(await stream.ended).toBe(true);
    expect(stream.deploymentId).toBe(id);
    const expected = Array.from({ length: COUNT + 2 - after }, (_event, index) => index + after + 1);
    expect(stream.events.map(({ seq }) => seq)).toEqual(expected);
    expect(stream.events.filter(({ status }) => status !== "Running")).toHaveLength(1);
    expect(stream.events.map(({ message }) => message)).toEqual(
      expected.map((seq) =>
        seq === 1 ? "Deployment received." : seq === COUNT + 2 ? "The app runs." : String(seq - 1),
      ),
    );
  }
});

test("a client that leaves does not stop the deployment", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const stream = await deploy(uuid, "web");
  const id = stream.deploymentId;
  stream[Symbol.dispose]();
  await stream.ended;
  device.event(id, {});
  device.success(id);
  const again = await follow(uuid, id, 0);
  expect(await again.ended).toBe(true);
  expect(again.events.map(({ status }) => status)).toEqual(["Running", "Running", "Success"]);
});

test("a repeated request with the same Idempotency-Key joins the first one's stream from its first event", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const key = { "Idempotency-Key": `key-${uuid}` };
  const first = await deploy(uuid, "web", key);
  const id = first.deploymentId;
  device.event(id, {});
  await device.next("event_ack");
  const second = await deploy(uuid, "web", key);
  expect(second.deploymentId).toBe(id);
  device.success(id);
  await Promise.all([first.ended, second.ended]);
  const third = await deploy(uuid, "web", key);
  await third.ended;
  expect(second.text).toBe(first.text);
  expect(third.text).toBe(first.text);
  expect(device.received.filter(({ type }) => type === "deploy")).toHaveLength(1);
  const other = await deploy(uuid, "other", key);
  await other.ended;
  expect(other.status).toBe(422);
  expect(other.events).toMatchObject([{ status: "Fail", code: "IdempotencyKeyReused" }]);
  const stranger = await control.account();
  const foreign = await openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, {
    apiKey: stranger.apiKey,
    body: { name: "web", image: "web:1" },
    headers: key,
  });
  expect(foreign.status).toBe(404);
});

test("a repetition begins another deployment once the first has failed for a reason that may pass", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const key = { "Idempotency-Key": `retry-${uuid}` };
  const fail = async (code: ErrorCode): Promise<string> => {
    const stream = await deploy(uuid, "web", key);
    const id = stream.deploymentId;
    device.event(id, { status: "Fail", code, message: code });
    await stream.ended;
    return id;
  };
  const first = await fail("NetworkUnavailable");
  const repeated = await Promise.all([1, 2, 3].map(() => deploy(uuid, "web", key)));
  const [second = ""] = repeated.map(({ deploymentId }) => deploymentId);
  expect(new Set(repeated.map(({ deploymentId }) => deploymentId))).toEqual(new Set([second]));
  expect(second).not.toBe(first);
  device.event(second, { status: "Fail", code: "CrashLoopBackOff", message: "It crashes." });
  await Promise.all(repeated.map(({ ended }) => ended));
  // The app itself fails: it would again.
  const third = await deploy(uuid, "web", key);
  await third.ended;
  expect([third.deploymentId, third.events.at(-1)?.code]).toEqual([second, "CrashLoopBackOff"]);
  const record = await follow(uuid, first, 0);
  await record.ended;
  expect(record.events.at(-1)).toMatchObject({ code: "NetworkUnavailable" });
});

test("a used Idempotency-Key is refused with what the first request was", async () => {
  const [one, other] = [await control.asset(account), await control.asset(account)];
  await using device = await FakeDevice.connect(control.agentUrl, one.deviceToken);
  const key = { "Idempotency-Key": `used-${one.uuid}` };
  const first = await deploy(one.uuid, "web", key);
  const id = first.deploymentId;
  const send = (asset: string, path: string, method: string, body?: unknown): Promise<EventStream> =>
    openStream(`${control.url}/v1/assets/${asset}/edge/apps${path}`, {
      method,
      apiKey: account.apiKey,
      headers: key,
      ...(body !== undefined && { body }),
    });
  for (const [refused, difference] of [
    [await deploy(other.uuid, "web", key), "on another asset"],
    [await deploy(one.uuid, "other", key), "of another app, web"],
    [await send(one.uuid, "/web/stop", "POST"), "by another command, deploy"],
    [await send(one.uuid, "", "POST", { name: "web", image: "web:2" }), "with another body or options"],
  ] as const) {
    await refused.ended;
    const message = `This Idempotency-Key was used for another request, which made deployment ${id} ${difference}.`;
    expect(refused.events).toMatchObject([{ code: "IdempotencyKeyReused", message, details: { deployment_id: id } }]);
  }
  device.success(id);
  await first.ended;
});

test("the record has what was streamed, newest first, page by page, and is hidden from other accounts", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const ids: string[] = [];
  for (const name of ["a", "b", "c"]) {
    const stream = await deploy(uuid, name);
    ids.unshift(stream.deploymentId);
    device.event(stream.deploymentId, { status: "Fail", message: "Taken.", code: "ErrorPortInUse", step: "checking" });
    await stream.ended;
  }
  const headers = { "X-API-Key": account.apiKey };
  const base = `${control.url}/v1/assets/${uuid}/edge/deployments`;
  const page = async (query: string) => {
    const response = await fetch(base + query, { headers });
    return (await response.json()) as { deployments: { deployment_id: string }[]; next_cursor: string | null };
  };
  const first = await page("?limit=2");
  const second = await page(`?limit=2&cursor=${first.next_cursor}`);
  expect([...first.deployments, ...second.deployments].map(({ deployment_id }) => deployment_id)).toEqual(ids);
  expect(second.next_cursor).toBeNull();
  const one = await fetch(`${base}/${ids[0]}`, { headers });
  expect(await one.json()).toEqual({
    deployment_id: ids[0],
    asset_id: uuid,
    app: "c",
    action: "deploy",
    image: "web:1",
    status: "Fail",
    message: "Taken.",
    code: "ErrorPortInUse",
    created_at: expect.any(Number),
    finished_at: expect.any(Number),
    last_seq: 2,
  });
  const sibling = await control.asset(account);
  const stranger = { "X-API-Key": (await control.account()).apiKey };
  const elsewhere = `${control.url}/v1/assets/${sibling.uuid}/edge/deployments/${ids[0]}`;
  for (const [url, key, code] of [
    [`${base}/dep_nothing`, headers, "DeploymentNotFound"],
    [elsewhere, headers, "DeploymentNotFound"],
    [`${elsewhere}/events`, headers, "DeploymentNotFound"],
    [`${base}/${ids[0]}`, stranger, "AssetNotFound"],
    [`${base}/${ids[0]}/events`, stranger, "AssetNotFound"],
    [base, stranger, "AssetNotFound"],
  ] as const) {
    const response = await fetch(url, { headers: key });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code });
  }
  for (const query of ["?limit=0", "?limit=x", "?cursor=x", "?colour=1", "?limit=201"]) {
    expect((await fetch(base + query, { headers })).status, query).toBe(422);
  }
  expect((await fetch(`${base}/${ids[0]}/events?after=-1`, { headers })).status).toBe(422);
});
