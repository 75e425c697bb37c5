import { describe, expect, it, onTestFinished } from "vitest";
import { lastDeployments } from "../../../../src/agent/live/report-builder.ts";
import { EngineError } from "../../../../src/agent/engine/engine-error.ts";
import type { RegistryErrorKind } from "../../../../src/agent/core/error-kind.ts";
import { RegistryError } from "../../../../src/agent/registry/registry-error.ts";
import type { DeployOptions } from "../../../../src/protocol/apps/deploy-request.ts";
import { AgentRig, type RigConfig } from "../../../support/agent-rig.ts";

const MB = 1_000_000;
const IMAGE = "registry.example.com/team/app:1";
const APP = { name: "web", image: IMAGE };

function rigWith(config: Partial<RigConfig> = {}): AgentRig {
  const rig = new AgentRig(config);
  onTestFinished(() => rig[Symbol.asyncDispose]());
  return rig;
}

async function deploy(rig: AgentRig, options: DeployOptions = {}, app: object = APP) {
  rig.deployments.deploy("d1", app, options);
  return await rig.untilEnd("d1");
}

function messages(rig: AgentRig): string[] {
  return rig.events("d1").map(({ message }) => message);
}

function unreachable(kind: RegistryErrorKind = "registry_unreachable", retryAfterMs?: number): RegistryError {
  return new RegistryError(kind, "registry.example.com: no answer", { retryAfterMs });
}

describe("the cost of an image", () => {
  it("is told before the download, with what is missing of it", async () => {
    const rig = rigWith();
    rig.engine.publish("registry.example.com/team/base:1", { layers: [MB] });
    await rig.engine.pullImage("registry.example.com/team/base:1", () => {}, new AbortController().signal);
    rig.engine.publish(IMAGE, { layers: [MB, 3 * MB] });
    expect((await deploy(rig))?.status).toBe("Success");
    const events = rig.events("d1");
    const costIndex = events.findIndex(({ details }) => details?.["download_bytes"] !== undefined);
    expect(events[costIndex]).toMatchObject({
      status: "Running",
      step: "pulling",
      message: "3.0 MB to download, in 1 of 2 layers; about 6.0 MB on disk.",
      details: { download_bytes: 3 * MB, disk_bytes: 6 * MB, image_bytes: 4 * MB, layers: 2, layers_present: 1 },
    });
    expect(events[costIndex + 1]?.message).toBe(`Pulling image ${IMAGE}.`);
  });

  it("counts layers in full that the engine was given by hand: it does not know what registries call them", async () => {
    const rig = rigWith();
    rig.engine.addImage("loaded:1", { layers: [MB] });
    rig.engine.publish(IMAGE, { layers: [MB, 3 * MB] });
    await deploy(rig, { dry_run: true });
    expect(rig.last("d1")?.details).toMatchObject({ download_bytes: 4 * MB, layers_present: 0 });
  });

  it("is nothing for the newest image, which is then not pulled", async () => {
    const rig = rigWith();
    const latest = "registry.example.com/team/app:latest";
    rig.engine.publish(latest, { layers: [MB] });
    await rig.engine.pullImage(latest, () => {}, new AbortController().signal);
    rig.engine.faults.fail("pullImage", new EngineError("unknown", "nobody should pull"));
    expect((await deploy(rig, {}, { ...APP, image: latest }))?.status).toBe("Success");
    expect(messages(rig)).toContain(`Image ${latest} is already on the device, and is the newest.`);
  });

  it("holds for what is pulled, also when the tag moves on meanwhile, and over a restart of the agent", async () => {
    const rig = rigWith();
    rig.engine.publish(IMAGE, { layers: [MB], pullMs: 5_000 });
    const hang = rig.engine.faults.hang("pullImage");
    rig.deployments.deploy("d1", APP);
    while (hang.waiting === 0) await rig.clock.advance(50);
    rig.engine.publish(`${IMAGE}-old`, { layers: [MB], pullMs: 5_000 });
    rig.engine.publish(IMAGE, { layers: [50 * MB] });
    hang[Symbol.dispose]();
    await rig.restart();
    expect((await rig.untilEnd("d1"))?.status).toBe("Success");
    const image = await rig.engine.inspectImage(IMAGE, new AbortController().signal);
    expect(image?.size).toBe(MB);
  });
});

describe("a dry run", () => {
  it("ends in Success with the cost, and changes nothing", async () => {
    const rig = rigWith();
    rig.engine.publish(IMAGE, { layers: [MB, 3 * MB] });
    expect(await deploy(rig, { dry_run: true })).toMatchObject({
      status: "Success",
      step: "done",
      message:
        "Nothing was changed. Deploying app web would cost: 4.0 MB to download, in 2 of 2 layers; about 8.0 MB on disk.",
      details: { dry_run: true, download_bytes: 4 * MB, layers: 2, layers_present: 0 },
    });
    const { signal } = new AbortController();
    expect(await rig.engine.inspectImage(IMAGE, signal)).toBeUndefined();
    expect(rig.engine.containers).toEqual([]);
    expect(rig.store.apps()).toEqual([]);
    // It is told of, and is no deployment of the app.
    expect(rig.store.history(1)).toMatchObject([{ id: "d1", dry_run: true }]);
    expect(lastDeployments(rig.store.history(1)).size).toBe(0);
  });

  it("of an image that is there costs nothing", async () => {
    const rig = rigWith();
    rig.engine.addImage(IMAGE);
    expect(await deploy(rig, { dry_run: true })).toMatchObject({
      status: "Success",
      message: "Nothing was changed. Deploying app web would download nothing: all it needs is on the device.",
      details: { dry_run: true, download_bytes: 0 },
    });
    expect(rig.engine.containers).toEqual([]);
  });

  it("fails as the deployment would", async () => {
    const rig = rigWith();
    rig.host.listening.set(30_001, { pid: 1, name: "sshd" });
    const ports = [{ host_port: 30_001, target_port: 80 }];
    rig.engine.publish(IMAGE);
    expect(await deploy(rig, { dry_run: true }, { ...APP, ports })).toMatchObject({ code: "ErrorPortInUse" });
  });

  it("leaves the app alone that it was for, also when it is cancelled after its end", async () => {
    const rig = rigWith();
    rig.engine.addImage(IMAGE);
    rig.engine.publish("registry.example.com/team/app:2", { layers: [9 * MB] });
    rig.deployments.deploy("d0", APP);
    expect((await rig.untilEnd("d0"))?.status).toBe("Success");
    const options = { dry_run: true };
    const spec = { image: "registry.example.com/team/app:2" };
    rig.deployments.change("d1", { action: "update", app: "web", spec, options });
    expect(await rig.untilEnd("d1")).toMatchObject({
      status: "Success",
      message: expect.stringContaining("Updating app web would cost") as string,
    });
    rig.deployments.cancel("d1", "timeout");
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail", code: "DeploymentCancelled" });
    expect(rig.store.apps()).toMatchObject([{ name: "web", deploymentId: "d0", spec: APP }]);
    expect(rig.engine.containers.map(({ status }) => status)).toEqual(["running"]);
  });

  it("takes neither name nor port from a deployment that comes after it", async () => {
    const rig = rigWith();
    rig.engine.addImage("local:1");
    rig.engine.publish(IMAGE);
    const asked = rig.engine.faults.hang("layerChains");
    rig.deployments.deploy("d1", { ...APP, ports: [{ host_port: 30_001, target_port: 80 }] }, { dry_run: true });
    while (asked.waiting === 0) await rig.clock.advance(50);
    rig.deployments.deploy("d2", { name: "web", image: "local:1", ports: [{ host_port: 30_001, target_port: 80 }] });
    expect((await rig.untilEnd("d2"))?.status).toBe("Success");
    asked[Symbol.dispose]();
    expect((await rig.untilEnd("d1"))?.status).toBe("Success");
  });

  it("cannot be had where the registry does not answer, whatever the engine could do", async () => {
    const rig = rigWith();
    rig.engine.publish(IMAGE);
    rig.registry.failures.push(unreachable(), unreachable(), unreachable());
    expect(await deploy(rig, { dry_run: true })).toMatchObject({
      code: "ImagePullBackOff",
      details: { reason: "registry_unreachable" },
    });
  });
});

describe("an image is not fetched", () => {
  it.each([
    ["that costs more than the request allows", {}, { max_download_bytes: MB }, "DataBudgetExceeded"],
    ["that costs more than the device allows", { maxDownloadBytes: MB }, {}, "DataBudgetExceeded"],
    ["that leaves too little disk space", { diskReserveBytes: 990 * MB }, {}, "InsufficientDisk"],
  ] as const)("%s", async (_what, config, options, code) => {
    const rig = rigWith(config);
    rig.engine.publish(IMAGE, { layers: [4 * MB] });
    rig.engine.faults.fail("pullImage", new EngineError("unknown", "nobody should pull"));
    expect(await deploy(rig, options)).toMatchObject({ status: "Fail", code, details: { download_bytes: 4 * MB } });
  });

  it("that is larger than the policy allows", async () => {
    const { policy } = rigWith().services.config;
    const rig = rigWith({ policy: { ...policy, max_image_bytes: MB } });
    rig.engine.publish(IMAGE, { layers: [4 * MB] });
    expect(await deploy(rig)).toMatchObject({ code: "PolicyDenied", details: { rule: "policy.max_image_bytes" } });
  });

  it("to its end where the engine turns out to want more of it than it was thought to lack", async () => {
    const rig = rigWith({ pullBy: "agent" });
    rig.engine.publish("registry.example.com/team/base:1", { layers: [MB] });
    await rig.engine.pullImage("registry.example.com/team/base:1", () => {}, new AbortController().signal);
    rig.engine.publish(IMAGE, { layers: [MB, 3 * MB] });
    expect(await deploy(rig, { max_download_bytes: 3.5 * MB })).toMatchObject({
      status: "Fail",
      code: "DataBudgetExceeded",
      message: "4.0 MB would have to be downloaded; the request allows 3.5 MB.",
      details: { download_bytes: 4 * MB, max_download_bytes: 3.5 * MB },
    });
    expect(rig.downloader.received).toBeLessThan(MB);
  });

  it("whose cost is not known where there is a bound to hold it against", async () => {
    const rig = rigWith({ maxDownloadBytes: 100 * MB });
    rig.engine.publish(IMAGE);
    for (let tries = 0; tries < 3; tries++) rig.registry.failures.push(unreachable());
    expect(await deploy(rig)).toMatchObject({ code: "ImagePullBackOff", details: { reason: "registry_unreachable" } });
    expect(messages(rig).filter((message) => message.includes("attempt"))).toHaveLength(2);
  });
});

describe("a registry that cannot be asked", () => {
  const kinds = [
    "registry_unreachable",
    "registry_untrusted",
    "unsupported",
    "rate_limited",
    "image_not_found",
  ] as const;

  it.each(kinds)("(%s) is left to the engine, which may know a way", async (kind) => {
    const rig = rigWith();
    rig.engine.publish(IMAGE);
    rig.registry.failures.push(unreachable(kind), unreachable(kind));
    expect((await deploy(rig))?.status).toBe("Success");
    expect(messages(rig)).toContain(
      "The cost of the download is not known (registry.example.com: no answer); leaving it to the container engine.",
    );
  });

  it("since it refers to a target that is not allowed, is not left to the engine, which would go there", async () => {
    const rig = rigWith();
    rig.engine.publish(IMAGE);
    rig.registry.failures.push(unreachable("refused_target"));
    expect(await deploy(rig)).toMatchObject({ code: "ImagePullBackOff", details: { reason: "refused_target" } });
  });

  it("is asked once more before that: a link that was down for a moment is no reason to do without", async () => {
    const rig = rigWith();
    rig.engine.publish(IMAGE, { layers: [MB] });
    rig.registry.failures.push(unreachable());
    expect((await deploy(rig))?.status).toBe("Success");
    expect(messages(rig)).toContain("1.0 MB to download, in 1 of 1 layers; about 2.0 MB on disk.");
    expect(messages(rig).filter((message) => message.includes("cannot be reached"))).toEqual([]);
  });

  it("is asked again after the engine did not reach it either", async () => {
    const rig = rigWith();
    rig.engine.publish(IMAGE, { layers: [MB] });
    rig.registry.failures.push(unreachable(), unreachable());
    rig.engine.faults.fail("pullImage", new EngineError("registry_unreachable", "connection refused"));
    expect((await deploy(rig))?.status).toBe("Success");
    expect(messages(rig).filter((message) => message.includes("attempt 2 of 3"))).toHaveLength(1);
    expect(messages(rig)).toContain("1.0 MB to download, in 1 of 1 layers; about 2.0 MB on disk.");
  });

  it("is given the time it asks for", async () => {
    const rig = rigWith({ maxDownloadBytes: 100 * MB });
    rig.engine.publish(IMAGE);
    rig.registry.failures.push(unreachable("rate_limited", 45_000));
    expect((await deploy(rig))?.status).toBe("Success");
    expect(rig.clock.monotonic()).toBeGreaterThan(45_000);
  });

  it("is named in the agent's words where the engine fails for the same reason", async () => {
    const rig = rigWith();
    rig.engine.publish(IMAGE, new EngineError("image_denied", "pull access denied"));
    rig.registry.failures.push(new RegistryError("image_denied", "registry.example.com wants a password"));
    expect((await deploy(rig))?.message).toBe(
      "The registry denies access to the image: registry.example.com wants a password",
    );
  });

  const UNKNOWN_AUTHORITY = "x509: certificate signed by unknown authority";
  const refusals = [
    ["image_denied", "registry.example.com wants credentials, and none are known for it", /registry_auth/],
    ["registry_untrusted", "registry.example.com: the certificate is self-signed", /`ca_file`/],
    ["image_not_found", "registry.example.com answered with HTTP 404", /name and the tag/],
  ] as const;
  // The engine's words for it, and a failure that could pass by itself.
  const engineKinds = ["registry_untrusted", "registry_unreachable"] as const;

  it.each(
    engineKinds.flatMap((kind) => refusals.map(([reason, message, next]) => [kind, reason, message, next] as const)),
  )(
    "(%s of the engine) fails by the registry's own answer, after one try of the engine: %s",
    async (engineKind, kind, message, next) => {
      const rig = rigWith();
      rig.engine.publish(IMAGE, new EngineError(engineKind, UNKNOWN_AUTHORITY));
      for (let lookup = 0; lookup < 9; lookup++) rig.registry.failures.push(new RegistryError(kind, message));
      let pulls = 0;
      rig.engine.faults.onCall(({ method, phase }) => {
        if (method === "pullImage" && phase === "before") pulls++;
      });
      const end = await deploy(rig);
      expect(end).toMatchObject({
        code: "ImagePullBackOff",
        message: expect.stringContaining(message) as string,
        details: {
          reason: kind,
          image: IMAGE,
          engine_error: UNKNOWN_AUTHORITY,
          next: expect.stringMatching(next) as string,
        },
      });
      expect(pulls).toBe(1);
    },
  );

  it("is not blamed for an engine that reached the image another way, and lost the connection over its layers", async () => {
    const rig = rigWith();
    rig.engine.publish(IMAGE);
    for (let lookup = 0; lookup < 2; lookup++)
      rig.registry.failures.push(new RegistryError("image_denied", "registry.example.com wants credentials"));
    let pulls = 0;
    rig.engine.faults.onCall(async ({ method, phase, args, signal }) => {
      if (method !== "pullImage" || phase !== "after" || pulls++ > 0) return;
      // The layers have come, but not all of them.
      await rig.engine.untagImage(String(args[0]), signal);
      throw new EngineError("registry_unreachable", "unexpected EOF");
    });
    expect((await deploy(rig))?.status).toBe("Success");
    expect(messages(rig)).toContainEqual(expect.stringContaining("attempt 2 of 3"));
  });

  it("leaves its refusal in the engine's words where the engine has no room for the image", async () => {
    const rig = rigWith();
    rig.engine.publish(IMAGE, new EngineError("no_space", "no space left on device"));
    rig.registry.failures.push(new RegistryError("image_denied", "registry.example.com wants credentials"));
    expect(await deploy(rig)).toMatchObject({ code: "InsufficientDisk" });
  });

  it("leaves the image that is there where nothing newer can be had", async () => {
    const rig = rigWith({ maxDownloadBytes: 100 * MB });
    rig.engine.addImage("team/app");
    rig.registry.failures.push(unreachable());
    expect((await deploy(rig, {}, { ...APP, image: "team/app" }))?.status).toBe("Success");
    expect(messages(rig)).toContain(
      "The registry cannot be asked (registry.example.com: no answer); using the image that is on the device.",
    );
  });
});

describe("credentials", () => {
  const own = { registry_auth: { username: "user", password: "planted-password" } } as const;

  it("come with the deployment, or from the device, and are shown to the engine too", async () => {
    const rig = rigWith();
    rig.engine.publish(IMAGE);
    rig.logins.set("registry.example.com", { kind: "token", token: "device" });
    await deploy(rig);
    expect(rig.registry.shown).toEqual([{ kind: "token", token: "device" }]);
    const shown: unknown[] = [];
    rig.engine.publish("registry.example.com/team/other:1");
    rig.engine.faults.onCall(({ method, phase, args }) => {
      if (method === "pullImage" && phase === "before") shown.push(args[1]);
    });
    rig.deployments.deploy("d2", { name: "other", image: "registry.example.com/team/other:1" }, own);
    await rig.untilEnd("d2");
    expect(shown).toEqual([{ kind: "basic", username: "user", password: "planted-password" }]);
    expect(rig.registry.shown.at(-1)).toEqual(shown[0]);
  });

  it("that are wrong are not tried once more by the engine", async () => {
    const rig = rigWith();
    rig.engine.publish(IMAGE);
    rig.registry.failures.push(new RegistryError("image_denied", "registry.example.com refuses the password"));
    rig.logins.set("registry.example.com", { kind: "token", token: "device" });
    expect(await deploy(rig)).toMatchObject({ code: "ImagePullBackOff", details: { reason: "image_denied" } });
  });

  it("are held as long as the image is not there, over a restart, and are in no log or event", async () => {
    const rig = rigWith();
    rig.engine.publish(IMAGE, { pullMs: 1_000 });
    const pulling = rig.engine.faults.hang("pullImage");
    rig.deployments.deploy("d1", APP, own);
    while (pulling.waiting === 0) await rig.clock.advance(50);
    expect(rig.store.deployment("d1")?.options).toEqual(own);
    pulling[Symbol.dispose]();
    await rig.restart();
    expect((await rig.untilEnd("d1"))?.status).toBe("Success");
    expect(rig.store.deployment("d1")?.options).toEqual({});
    expect(JSON.stringify([rig.log, rig.events("d1")])).not.toContain("planted-password");
  });

  it("are forgotten with a failure", async () => {
    const rig = rigWith();
    expect((await deploy(rig, own))?.code).toBe("ImagePullBackOff");
    expect(rig.store.deployment("d1")?.options).toEqual({});
  });
});
