import { describe, expect, it } from "vitest";
import { appReportSchema } from "../../../src/protocol/apps/app-report.ts";
import { readDeviceStatus } from "../../../src/agent/local/device-status.ts";
import { toAppReport } from "../../../src/agent/live/app-report.ts";
import type { ContainerRequest } from "../../../src/agent/engine/engine.ts";
import { deployedApps } from "../../support/reconciler-rig.ts";

const OLD = "example/app:1";
const NEW = "example/app:2";
const signal = new AbortController().signal;

/** An app with something of each kind that another tool may change. */
async function deployed() {
  const apps = await deployedApps(OLD);
  const { rig } = apps;
  rig.engine.addImage(NEW, { layers: [5] });
  rig.deployments.deploy("d1", {
    name: "web",
    image: OLD,
    ports: [{ host_port: 30_001, target_port: 80 }],
    environments: [{ key: "A", value: "1" }],
    volumes: [{ local: "/data", target: "/data" }],
  });
  await rig.untilEnd("d1");
  return apps;
}

type Apps = Awaited<ReturnType<typeof deployed>>;

/** Another tool makes the container anew, with its name and labels, as those do that update images. */
async function recreate({ rig, reconciler }: Apps, changes: Partial<ContainerRequest>): Promise<string> {
  const { id, request } = rig.engine.container("web")!;
  await rig.engine.removeContainer(id, signal);
  const other = await rig.engine.createContainer({ ...request, ...changes }, signal);
  await rig.engine.startContainer(other, signal);
  await reconciler.reconcile(signal);
  return other;
}

const reportOf = ({ rig }: Apps) => {
  const [app] = rig.store.apps();
  const container = rig.engine.container("web")?.state;
  const observation = { app: app!, container, image: undefined, lastDeployment: null, secrets: [] };
  return appReportSchema.parse(toAppReport(observation, rig.clock.now()).report);
};

describe("a container that another tool has made anew", () => {
  it.each<[string[], Partial<ContainerRequest>]>([
    [["image"], { image: NEW }],
    [["environments"], { environment: ["A=1", "B=2"] }],
    [["ports"], { ports: [{ hostPort: 30_002, targetPort: 80 }] }],
    [["volumes"], { volumes: [{ local: "/data", target: "/data", readonly: true }] }],
    [["privileged"], { privileged: true }],
    [["image", "volumes"], { image: NEW, volumes: [] }],
  ])("runs on, and the app is shown as changed in %j", async (what, changes) => {
    const apps = await deployed();
    await using rig = apps.rig;
    const other = await recreate(apps, changes);
    expect(rig.engine.containers).toMatchObject([{ id: other, status: "running" }]);
    expect(rig.store.apps()).toMatchObject([{ containerId: other, deploymentId: "d1" }]);
    expect(reportOf(apps).changed).toMatchObject({ by: "foreign", what });
  });

  it("is named by the commands on the device", async () => {
    const apps = await deployed();
    await using rig = apps.rig;
    await recreate(apps, { image: NEW });
    const status = await readDeviceStatus({ ...rig.services, diskReserveBytes: 0 }, signal);
    expect(status.apps).toMatchObject([
      { state: "running", trouble: "another tool made its container anew, with another image" },
    ]);
  });

  it("is replaced by an update that asks for nothing new", async () => {
    const apps = await deployed();
    await using rig = apps.rig;
    await recreate(apps, { image: NEW });
    rig.deployments.change("u1", { action: "update", app: "web", spec: {} });
    expect(await rig.untilEnd("u1")).toMatchObject({ status: "Success", message: "App web is updated and running." });
    expect(reportOf(apps).changed).toBeUndefined();
    expect(rig.engine.container("web")?.imageId).toBe(rig.store.apps()[0]?.imageId);
  });

  it("is the app's again once the agent has made it anew", async () => {
    const apps = await deployed();
    await using rig = apps.rig;
    const other = await recreate(apps, { image: NEW });
    await rig.engine.removeContainer(other, signal);
    await rig.clock.advance(60_000);
    await apps.reconciler.reconcile(signal);
    expect(rig.engine.container("web")?.status).toBe("running");
    expect(reportOf(apps).changed).toBeUndefined();
  });

  it("with nothing else in it is the agent's own, as after a repair", async () => {
    const apps = await deployed();
    await using _rig = apps.rig;
    await recreate(apps, {});
    expect(reportOf(apps).changed).toBeUndefined();
  });
});

/** Marks the app as applied by a fleet. */
function applied({ rig }: Apps): void {
  const [app] = rig.store.apps();
  const fleet = { name: "kiosks", revision: 3, deploymentId: "d1", isChanged: false };
  rig.store.save({ app: { ...app!, fleet } });
}

describe("an app of a fleet", () => {
  it.each(["local", "api"] as const)("that is updated otherwise says by whom, and in what: %s", async (by) => {
    const apps = await deployed();
    await using rig = apps.rig;
    applied(apps);
    const origin = by === "local" ? "local" : "control_plane";
    rig.deployments.change("u1", { action: "update", app: "web", spec: { image: NEW } }, origin);
    while (rig.deployments.isBusy("web")) await rig.clock.advance(50);
    const report = reportOf(apps);
    expect(report).toMatchObject({ fleet: { is_changed: true }, changed: { by, what: ["image"] } });
    const since = report.changed?.since;
    await rig.clock.advance(10_000);
    rig.deployments.change("u2", { action: "update", app: "web", spec: { environments: [] } });
    await rig.untilEnd("u2");
    expect(reportOf(apps).changed).toEqual({ by: "api", what: ["image", "environments"], since });
  });

  it("counts as changed while another tool's container runs", async () => {
    const apps = await deployed();
    await using _rig = apps.rig;
    applied(apps);
    await recreate(apps, { image: NEW });
    expect(reportOf(apps).fleet).toMatchObject({ is_changed: true });
  });
});
