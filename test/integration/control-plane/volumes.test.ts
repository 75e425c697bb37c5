import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ApiResponse } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { FakeDevice } from "../../support/fake-device.ts";

let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

const LISTED = {
  volumes: [
    {
      name: "data",
      apps: [{ app: "db", readonly: false }],
      apps_left_out: 0,
      size_bytes: 1_000,
      created_at: 1_795_000_000,
    },
  ],
  left_out: 0,
};

async function send(method: "GET" | "DELETE", uuid: string, path: string): Promise<Omit<ApiResponse, "headers">> {
  const response = await fetch(`${control.url}/v1/assets/${uuid}/edge/volumes${path}`, {
    method,
    headers: { "X-API-Key": account.apiKey },
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? {} : (JSON.parse(text) as ApiResponse["body"]) };
}

async function connected(options: Parameters<typeof FakeDevice.connect>[2] = {}) {
  const { uuid, deviceToken } = await control.asset(account);
  const device = await FakeDevice.connect(control.agentUrl, deviceToken, options);
  return { uuid, device, [Symbol.asyncDispose]: () => device[Symbol.asyncDispose]() };
}

describe("volumes of a device", () => {
  test.each([
    ["", false],
    ["?size=false", false],
    ["?size=true", true],
  ])("are listed by the device, measured if that is asked for: %j", async (query, size) => {
    await using rig = await connected();
    const listing = send("GET", rig.uuid, query);
    const asked = await rig.device.next("query");
    expect(asked).toMatchObject({ what: "volumes", params: { size } });
    rig.device.answer(asked.query_id, LISTED);
    expect(await listing).toMatchObject({ status: 200, body: LISTED });
  });

  test("are deleted by the device, which may refuse", async () => {
    await using rig = await connected();
    const removing = send("DELETE", rig.uuid, "/data");
    const asked = await rig.device.next("query");
    expect(asked).toMatchObject({ what: "remove_volume", params: { name: "data" } });
    rig.device.answer(asked.query_id, { name: "data" });
    expect(await removing).toMatchObject({ status: 204, body: {} });
    for (const [code, status] of [
      ["VolumeInUse", 409],
      ["VolumeNotFound", 404],
      ["EngineUnavailable", 503],
    ] as const) {
      const refused = send("DELETE", rig.uuid, "/data");
      const { query_id } = await rig.device.next("query");
      rig.device.send({ type: "query_end", query_id, code, message: "The app db has the volume data." });
      expect(await refused).toMatchObject({ status, body: { code, message: "The app db has the volume data." } });
    }
  });

  test("an answer about another volume, or of another form, is not passed on", async () => {
    await using rig = await connected();
    const removing = send("DELETE", rig.uuid, "/data");
    rig.device.answer((await rig.device.next("query")).query_id, { name: "other" });
    expect(await removing).toMatchObject({ status: 502, body: { code: "DeviceFailed" } });
    const listing = send("GET", rig.uuid, "");
    rig.device.answer((await rig.device.next("query")).query_id, { volumes: [{ name: "../x" }], left_out: 0 });
    expect(await listing).toMatchObject({ status: 502, body: { code: "DeviceFailed" } });
  });

  test.each(["..%2fx", "a%2fb", ".x", "a".repeat(64), "a%00"])("the name %s is none", async (name) => {
    const { uuid } = await control.asset(account);
    expect((await send("DELETE", uuid, `/${name}`)).status).toBeOneOf([400, 404, 422]);
  });

  test("of a device that is away are not known", async () => {
    const { uuid } = await control.asset(account);
    expect(await send("GET", uuid, "")).toMatchObject({ status: 503, body: { code: "DeviceNotReachable" } });
    expect(await send("GET", uuid, "?size=maybe")).toMatchObject({ status: 422, body: { code: "InvalidRequest" } });
  });
});
