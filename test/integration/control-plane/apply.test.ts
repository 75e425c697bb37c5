import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApplyRequestInput, MAX_APPLY_APPS } from "../../../src/protocol/apps/apply.ts";
import { MAX_FRAME_BYTES } from "../../../src/protocol/limits.ts";
import { apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { openStream, type StreamRequest } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";

let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

const PASSWORD = "never-to-be-written-down";
const APPS: ApplyRequestInput["apps"] = [
  { app: { name: "db", image: "db:1", environments: [{ key: "PASSWORD", value: PASSWORD, secret: true }] } },
  { app: { name: "web", image: "web:1" }, depends_on: [{ app: "db" }] },
];

const apply = (uuid: string, body: unknown, query = "", request: StreamRequest = {}) => {
  const url = `${control.url}/v1/assets/${uuid}/edge/apply${query}`;
  return openStream(url, { apiKey: account.apiKey, method: "POST", body, ...request });
};
const record = async (uuid: string, id: string) =>
  (await apiClient(control, account).get(`/v1/assets/${uuid}/edge/deployments/${id}`)).body;

test("an apply is one frame with defaults filled in, one stream whose events name their app, and one record", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const stream = await apply(uuid, { project: "line", apps: APPS, prune: true, urgent: true }, "?dry_run=true");
  const frame = await device.next("apply");
  expect(frame).toMatchObject({
    deployment_id: stream.deploymentId,
    request: {
      project: "line",
      prune: true,
      adopt: false,
      on_failure: "rollback",
      apps: [
        { app: { name: "db", environments: [{ key: "PASSWORD", value: PASSWORD, secret: true }] }, depends_on: [] },
        { app: { name: "web", ports: [], host_network: false }, depends_on: [{ app: "db", condition: "started" }] },
      ],
    },
    options: { urgent: true, dry_run: true },
  });
  device.event(stream.deploymentId, { message: "Working.", app: "db" });
  const plan = [{ app: "db", change: "create", fields: [] }];
  device.event(stream.deploymentId, {
    status: "Success",
    step: "done",
    message: "Nothing was changed.",
    details: { plan },
  });
  expect(await stream.ended).toBe(true);
  expect(stream.events).toMatchObject([
    { status: "Running", message: "Request to apply a group of apps received. Dry run: nothing will be changed." },
    { status: "Running", message: "Working.", app: "db" },
    { status: "Success", details: { plan } },
  ]);
  expect(stream.events[0]).not.toHaveProperty("app");
  const found = await record(uuid, stream.deploymentId);
  expect(found).toMatchObject({ action: "apply", app: "line", status: "Success", dry_run: true });
  const stored = await control.store.deployments.findDeployment(stream.deploymentId);
  expect(JSON.stringify(stored)).not.toContain(PASSWORD);
  expect(stored?.command.spec).toMatchObject({ apps: [{ app: { environments: [{ value: "***" }] } }, {}] });
});

test("removals alone are sent, and are in the audit log", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const stream = await apply(uuid, { project: "line", apps: [], remove: ["old"] });
  expect(await device.next("apply")).toMatchObject({ request: { apps: [], remove: ["old"] } });
  device.event(stream.deploymentId, { status: "Success", step: "done", message: "Done." });
  expect(await stream.ended).toBe(true);
  const { body } = await apiClient(control, account).get(`/v1/audit?asset=${uuid}`);
  expect(JSON.stringify(body)).toContain('"removed":["old"]');
});

test.each([{ fleet: { name: "kiosks", revision: 1 } }, { keep_images: [] }])(
  "a client cannot set what belongs to a fleet: %o",
  async (fields) => {
    const { uuid } = await control.asset(account);
    const stream = await apply(uuid, { project: "line", apps: APPS, ...fields });
    await stream.ended;
    expect(stream.events).toMatchObject([{ status: "Fail", code: "InvalidRequest" }]);
  },
);

test("an apply has the time of one deployment for each of its apps", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const stream = await apply(uuid, { project: "line", apps: APPS });
  await device.next("apply");
  const url = `${control.url}/v1/assets/${uuid}/edge/apps`;
  const one = await openStream(url, { apiKey: account.apiKey, method: "POST", body: { name: "one", image: "one:1" } });
  const timeOf = async ({ deploymentId }: { readonly deploymentId: string }): Promise<number> => {
    const stored = await control.store.deployments.findDeployment(deploymentId);
    return stored ? stored.deadlineAtMs - stored.createdAtMs : Number.NaN;
  };
  expect(await timeOf(stream)).toBe(2 * (await timeOf(one)));
  for (const { deploymentId } of [stream, one]) device.success(deploymentId);
  await Promise.all([stream.ended, one.ended]);
});

test("an apply that the device has not acknowledged is sent again in its next session, and can be cancelled", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  const first = await FakeDevice.connect(control.agentUrl, deviceToken, { acknowledges: false });
  const stream = await apply(uuid, { project: "line", apps: APPS });
  const sent = await first.next("apply");
  await first.cut();
  await using second = await FakeDevice.connect(control.agentUrl, deviceToken);
  expect(await second.next("apply")).toEqual(sent);
  await apiClient(control, account).delete(`/v1/assets/${uuid}/edge/deployments/${stream.deploymentId}`);
  expect(await second.next("cancel")).toMatchObject({ deployment_id: stream.deploymentId, reason: "requested" });
  second.event(stream.deploymentId, { status: "Fail", code: "DeploymentCancelled", message: "Undone." });
  await stream.ended;
  expect(stream.events.at(-1)).toMatchObject({ code: "DeploymentCancelled", message: "Undone." });
});

const app = (name: string, fields: object = {}) => ({ app: { name, image: "x:1", ...fields } });
const ports = (host_port: number) => ({ ports: [{ host_port, target_port: 80 }] });
const volumes = (name: string, readonly = false) => ({ volumes: [{ name, target: "/data", readonly }] });
const on = (...apps: string[]) => ({ depends_on: apps.map((other) => ({ app: other })) });

describe("a request that is refused", () => {
  test.each([
    ["no app", { project: "line", apps: [] }, "apps", /must not be empty/],
    ["no project", { apps: [app("a")] }, "project", /./],
    ["a name twice", { project: "line", apps: [app("a"), app("a")] }, "apps[1].app.name", /a appears twice/],
    [
      "a port twice",
      { project: "line", apps: [app("a", ports(30_001)), app("b", ports(30_001))] },
      "apps[1].app.ports[0].host_port",
      /30001\/tcp is also one of the app a/,
    ],
    [
      "a volume that two apps write to",
      {
        project: "line",
        apps: [app("a", volumes("data")), app("b", volumes("data", true)), app("c", volumes("data"))],
      },
      "apps[2].app.volumes[0].name",
      /the app a writes to the volume data too.*read-only/,
    ],
    [
      "an unknown dependency",
      { project: "line", apps: [{ ...app("a"), ...on("b") }] },
      "apps[0].depends_on[0].app",
      /b is no app of the request/,
    ],
    [
      "a circle",
      {
        project: "line",
        apps: [
          { ...app("a"), ...on("c") },
          { ...app("b"), ...on("a") },
          { ...app("c"), ...on("b") },
        ],
      },
      "apps[0].depends_on",
      /in a circle: a -> c -> b -> a/,
    ],
    [
      "an app that depends on itself",
      { project: "line", apps: [{ ...app("a"), ...on("a") }] },
      "apps[0].depends_on",
      /a -> a/,
    ],
    [
      "a project of an app",
      { project: "line", apps: [app("a", { project: "b" })] },
      "apps[0].app.project",
      /each of its apps/,
    ],
    ["a plan hash of another form", { project: "line", apps: [app("a")], expect: "x" }, "expect", /64 hexadecimal/],
    ["an unknown field", { project: "line", apps: [app("a")], prun: true }, "prun", /did you mean `prune`/],
  ])("for %s is one Fail event", async (_what, body, path, reason) => {
    const { uuid } = await control.asset(account);
    const stream = await apply(uuid, body);
    await stream.ended;
    expect([stream.status, stream.events.length, stream.events[0]?.code]).toEqual([422, 1, "InvalidRequest"]);
    expect(stream.events[0]?.details).toMatchObject({ issues: [{ path, reason: expect.stringMatching(reason) }] });
  });

  test("of 65 apps, or whose frame would be too long, is refused as well", async () => {
    const { uuid } = await control.asset(account);
    const many = await apply(uuid, {
      project: "line",
      apps: Array.from({ length: MAX_APPLY_APPS + 1 }, (_, n) => app(`a${n}`)),
    });
    await many.ended;
    expect(many.events[0]?.code).toBe("InvalidRequest");
    const volumes = Array.from({ length: 16_000 }, (_, n) => ({ local: "/a", target: `/${n}` }));
    const body = { project: "line", apps: [app("a", { volumes }), app("b", { volumes })] };
    expect(JSON.stringify(body).length).toBeGreaterThan(MAX_FRAME_BYTES / 2);
    expect((await apply(uuid, { ...body, apps: [...body.apps, app("c", { volumes })] })).status).toBe(413);
    const long = { key: "A", value: "x".repeat(200_000) };
    const fits = await apply(uuid, {
      project: "line",
      apps: [app("a", { environments: [long] }), app("b", { environments: [long] })],
    });
    await fits.ended;
    expect(fits.events.at(-1)?.code).toBe("DeviceNotReachable");
  });
});
