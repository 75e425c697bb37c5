import { describe, expect, it } from "vitest";
import { LABELS } from "../../../src/agent/core/app/container.ts";
import { AgentRig } from "../../support/agent-rig.ts";

const [IMAGE, NEXT] = ["example/app:1", "example/app:2"];
const REQUEST = { name: "app", image: IMAGE };

async function failureOf(rig: AgentRig, fields: object) {
  rig.engine.addImage(IMAGE);
  rig.deployments.deploy("d1", { ...REQUEST, ...fields });
  return await rig.untilEnd("d1");
}

describe("deploying with options of the container", () => {
  it("hands them to the engine in one form, beside the agent's own labels", async () => {
    await using rig = new AgentRig();
    const options = {
      entrypoint: ["/entry"],
      user: "1000",
      working_dir: "/srv/",
      cap_add: ["cap_net_raw"],
      tmpfs: [{ target: "/run" }],
      labels: { "com.example.team": "one" },
      log: { max_bytes: 65_536 },
      stop_grace_s: 30,
      init: false,
    };
    expect(await failureOf(rig, options)).toMatchObject({ status: "Success" });
    const request = rig.engine.container("app")!.request;
    expect(request.options).toEqual({
      entrypoint: ["/entry"],
      user: "1000",
      working_dir: "/srv",
      cap_add: ["NET_RAW"],
      tmpfs: [{ target: "/run" }],
      stop_grace_s: 30,
    });
    expect(request.logLimit).toEqual({ maxBytes: 65_536, maxFiles: 3 });
    expect(request.labels).toMatchObject({ "com.example.team": "one", [LABELS.app]: "app" });
  });

  it("changes nothing for an app without any", async () => {
    await using rig = new AgentRig();
    await failureOf(rig, {});
    expect(rig.engine.container("app")!.request).not.toHaveProperty("options");
  });

  it("refuses what the policy denies before anything changes", async () => {
    await using rig = new AgentRig();
    expect(await failureOf(rig, { cap_add: ["SYS_ADMIN"] })).toMatchObject({
      status: "Fail",
      code: "PolicyDenied",
      step: "checking",
      details: { rule: "policy.capabilities.allow" },
    });
    expect(rig.engine.container("app")).toBeUndefined();
  });

  it("refuses more memory than the device has, and GPUs that its engine does not offer", async () => {
    for (const [fields, text] of [
      [{ shm_size: 2 ** 40 }, /shm_size is/],
      [{ tmpfs: [{ target: "/a", size_bytes: 2 ** 40 }] }, /tmpfs\[0\]\.size_bytes is/],
      [{ gpus: "all" }, /offers no GPUs/],
    ] as const) {
      await using rig = new AgentRig();
      const expected = { code: "InvalidRequest", message: expect.stringMatching(text) as string };
      expect(await failureOf(rig, fields)).toMatchObject({ status: "Fail", ...expected });
    }
    await using rig = new AgentRig();
    Object.assign(rig.engine.engineInfo, { gpus: true });
    expect(await failureOf(rig, { gpus: "all" })).toMatchObject({ status: "Success" });
  });

  it.each([
    [{ device_cgroup_rules: ["c 188:* rw"] }, /^Podman ignores `device_cgroup_rules`/],
    [
      { tmpfs: [{ target: "/a" }, { target: "/b", owner: "5" }] },
      /^Podman gives every `tmpfs` to root: leave tmpfs\[1\]\.owner/,
    ],
  ])("refuses %j with Podman, which cannot do it", async (fields, text) => {
    await using rig = new AgentRig();
    Object.assign(rig.engine.engineInfo, { kind: "podman" });
    const expected = { code: "InvalidRequest", message: expect.stringMatching(text) as string };
    expect(await failureOf(rig, fields)).toMatchObject({ status: "Fail", step: "checking", ...expected });
    expect(rig.engine.container("app")).toBeUndefined();
  });

  it("says that capabilities change nothing for a privileged app", async () => {
    await using rig = new AgentRig();
    await failureOf(rig, { privileged: true, cap_drop: ["ALL"] });
    const said = rig.events("d1").filter(({ message }) => message.includes("has every capability"));
    expect(said).toMatchObject([{ status: "Running", step: "checking" }]);
  });
});

describe("stopping an app", () => {
  it("gives each version the time that its own specification says", async () => {
    await using rig = new AgentRig();
    for (const image of [IMAGE, NEXT]) rig.engine.addImage(image);
    const graces: [string, number][] = [];
    const { engine } = rig;
    const stop = engine.stopContainer.bind(engine);
    engine.stopContainer = async (id, graceMs, signal) => {
      graces.push([(await engine.inspectContainer(id, signal))?.labels[LABELS.deployment] ?? "", graceMs]);
      await stop(id, graceMs, signal);
    };
    rig.deployments.deploy("d1", { ...REQUEST, stop_grace_s: 45 });
    await rig.untilEnd("d1");
    rig.deployments.change("d2", { action: "update", app: "app", spec: { image: NEXT, stop_grace_s: 0 } });
    await rig.untilEnd("d2");
    rig.deployments.change("d3", { action: "stop", app: "app" });
    await rig.untilEnd("d3");
    expect(graces).toEqual([
      ["d1", 45_000],
      ["d2", 0],
    ]);
  });
});
