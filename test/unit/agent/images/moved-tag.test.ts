import { describe, expect, it, onTestFinished } from "vitest";
import type { RegistryErrorKind } from "../../../../src/agent/core/error-kind.ts";
import { EngineError } from "../../../../src/agent/engine/engine-error.ts";
import { toAppReport } from "../../../../src/agent/live/app-report.ts";
import { RegistryError } from "../../../../src/agent/registry/registry-error.ts";
import type { DeployOptions } from "../../../../src/protocol/apps/deploy-request.ts";
import { AgentRig, type RigConfig } from "../../../support/agent-rig.ts";
import { manifestDigestOf } from "../../../support/fake-engine/fake-image.ts";

const MB = 1_000_000;
const IMAGE = "registry.example.com/team/app:1";
const OLD = { layers: [MB] };
const NEW = { layers: [2 * MB] };
const DIGEST = { old: manifestDigestOf(OLD), new: manifestDigestOf(NEW) };

/** A device on which the app runs from the image its tag meant, with the registry's records empty. */
async function deployed(spec: object = {}, config: Partial<RigConfig> = {}): Promise<AgentRig> {
  const rig = new AgentRig(config);
  onTestFinished(() => rig[Symbol.asyncDispose]());
  rig.engine.publish(IMAGE, OLD);
  rig.deployments.deploy("d1", { name: "web", image: IMAGE, ...spec });
  expect((await rig.untilEnd("d1"))?.status).toBe("Success");
  rig.registry.asked.length = 0;
  return rig;
}

async function update(rig: AgentRig, spec: object = { image: IMAGE }, options: DeployOptions = {}, id = "u1") {
  rig.deployments.change(id, { action: "update", app: "web", spec, options });
  return await rig.untilEnd(id);
}

const messages = (rig: AgentRig, id = "u1"): string[] => rig.events(id).map(({ message }) => message);

/** What the device reports of the app, from the record alone: an engine knows no digest of what the agent loaded. */
function reportedDigest(rig: AgentRig): string | null {
  const [app] = rig.store.apps();
  if (!app) throw new Error("there is no app");
  return toAppReport({ app, container: undefined, image: undefined, lastDeployment: null, secrets: [] }, 0).report
    .image_digest;
}

function fails(rig: AgentRig, kind: RegistryErrorKind, times = 9): void {
  for (let request = 0; request < times; request++) {
    rig.registry.failures.push(new RegistryError(kind, "registry.example.com: no answer"));
  }
}

describe.each(["agent", "engine"] as const)("an update that names an image pulled by the %s", (pullBy) => {
  it("brings what its tag means by now, and reports that digest", async () => {
    const rig = await deployed({}, { pullBy });
    expect(reportedDigest(rig)).toBe(DIGEST.old);
    rig.engine.publish(IMAGE, NEW);
    expect(await update(rig)).toMatchObject({ status: "Success", message: "App web is updated and running." });
    expect(reportedDigest(rig)).toBe(DIGEST.new);
    expect(rig.engine.containers).toHaveLength(1);
  });

  it("asks the registry once where the tag has not moved, and says that it has not", async () => {
    const rig = await deployed({}, { pullBy });
    const container = rig.engine.container("web")?.id;
    expect(await update(rig)).toMatchObject({
      status: "Success",
      message: expect.stringMatching(
        /^Nothing to change: registry\.example\.com\/team\/app:1 is still sha256:[0-9a-f]{12}/,
      ) as string,
    });
    expect(rig.registry.asked).toEqual(["digest"]);
    expect(rig.engine.container("web")?.id).toBe(container);
  });
});

describe("an update that names an image", () => {
  it("goes back to the old one, and its digest, where the new one does not hold", async () => {
    const rig = await deployed();
    rig.engine.publish(IMAGE, { ...NEW, behaviour: { exit: { code: 3, afterMs: 500 } } });
    expect(await update(rig)).toMatchObject({ status: "Fail", code: "CrashLoopBackOff" });
    expect(reportedDigest(rig)).toBe(DIGEST.old);
    // What is on the device under the tag is the new one by now, and is asked about as before.
    rig.engine.publish(IMAGE, OLD);
    expect((await update(rig, { image: IMAGE }, {}, "u2"))?.status).toBe("Success");
    expect(reportedDigest(rig)).toBe(DIGEST.old);
  });

  it("asks for the whole image where the digest alone cannot tell, and knows it from then on", async () => {
    const rig = await deployed();
    const [app] = rig.store.apps();
    if (!app) throw new Error("there is no app");
    // As of an app whose image came without a digest.
    rig.store.save({ app: { ...app, digest: undefined } });
    rig.store.saveLearnedValue("pulled_images", "[]");
    rig.engine.addImage(IMAGE, { ...OLD });
    expect((await update(rig))?.message).toContain("Nothing to change");
    expect(rig.registry.asked).toEqual(["image"]);
    expect(reportedDigest(rig)).toBe(DIGEST.old);
    rig.registry.asked.length = 0;
    await update(rig, { image: IMAGE }, {}, "u2");
    expect(rig.registry.asked).toEqual(["digest"]);
  });

  it("asks for the whole image where the registry tells no digest", async () => {
    const rig = await deployed();
    rig.registry.tellsDigests = false;
    expect((await update(rig))?.message).toContain("Nothing to change");
    expect(rig.registry.asked).toEqual(["digest", "image"]);
  });

  it("shows in a dry run what it would pull and what that costs, and leaves the record alone", async () => {
    const rig = await deployed();
    expect((await update(rig, { image: IMAGE }, { dry_run: true }, "u0"))?.message).toContain("is still sha256:");
    rig.engine.publish(IMAGE, NEW);
    expect(await update(rig, { image: IMAGE }, { dry_run: true })).toMatchObject({
      status: "Success",
      message: `Nothing was changed. Updating app web would cost: 2.0 MB to download, in 1 of 1 layers; about 4.0 MB on disk. ${IMAGE} is ${DIGEST.new.slice(0, 19)} now.`,
      details: { dry_run: true, download_bytes: 2 * MB, image_digest: DIGEST.new },
    });
    expect(reportedDigest(rig)).toBe(DIGEST.old);
  });

  it.each(["registry_unreachable", "rate_limited", "registry_untrusted", "image_denied", "image_not_found"] as const)(
    "keeps the image that is there where the registry cannot be asked (%s), and says so",
    async (kind) => {
      const rig = await deployed();
      rig.engine.publish(IMAGE, NEW);
      rig.engine.faults.fail("pullImage", new EngineError("unknown", "nobody should pull"), { times: 9 });
      fails(rig, kind);
      const end = await update(rig, { image: IMAGE, environments: [{ key: "A", value: "1" }] });
      expect(end).toMatchObject({ status: "Success", message: "App web is updated and running." });
      expect(messages(rig)).toContainEqual(
        expect.stringMatching(/registry.*no answer.*; using the image that is on the device\./),
      );
      expect(reportedDigest(rig)).toBe(DIGEST.old);
      expect(rig.registry.asked.length).toBeLessThanOrEqual(2);
      const same = await update(rig, { image: IMAGE }, {}, "u2");
      expect(same?.message).toMatch(/^Nothing was changed: the registry could not be asked whether \S+ has moved/);
      const dry = await update(rig, { image: IMAGE, environments: [] }, { dry_run: true }, "u3");
      expect(dry).toMatchObject({
        status: "Success",
        message: expect.stringContaining("could not be asked") as string,
      });
    },
  );

  it("fails where the tag has moved and the new image cannot be had", async () => {
    const rig = await deployed();
    rig.engine.publish(IMAGE, NEW);
    rig.engine.faults.fail("pullImage", new EngineError("registry_unreachable", "unexpected EOF"), { times: 9 });
    expect(await update(rig)).toMatchObject({ status: "Fail", code: "ImagePullBackOff" });
    expect(reportedDigest(rig)).toBe(DIGEST.old);
    expect(rig.engine.container("web")?.status).toBe("running");
  });

  it("leaves a digest that it names without a question", async () => {
    const rig = await deployed();
    const pinned = `${IMAGE}@${DIGEST.old}`;
    rig.engine.addImage(pinned, OLD);
    expect((await update(rig, { image: pinned }))?.status).toBe("Success");
    rig.registry.asked.length = 0;
    rig.engine.publish(IMAGE, NEW);
    expect((await update(rig, { image: pinned, pull: "always" }, {}, "u2"))?.status).toBe("Success");
    expect(rig.registry.asked).toEqual([]);
    expect(reportedDigest(rig)).toBe(DIGEST.old);
  });
});

describe("`pull`", () => {
  it("missing never asks about an image that is there", async () => {
    const rig = await deployed({ pull: "missing" });
    rig.engine.publish(IMAGE, NEW);
    expect((await update(rig))?.message).toContain("Nothing to change");
    const latest = "registry.example.com/team/app:latest";
    rig.engine.addImage(latest);
    rig.deployments.deploy("d2", { name: "other", image: latest, pull: "missing" });
    expect((await rig.untilEnd("d2"))?.status).toBe("Success");
    expect(rig.registry.asked).toEqual([]);
  });

  it("missing takes an image without a tag that is there and in no registry", async () => {
    const rig = await deployed();
    const untagged = "built-here";
    rig.engine.addImage(untagged);
    fails(rig, "image_not_found");
    rig.engine.faults.fail("pullImage", new EngineError("image_not_found", "no such image"), { times: 9 });
    rig.deployments.deploy("d2", { name: "other", image: untagged, pull: "missing" });
    expect(await rig.untilEnd("d2")).toMatchObject({ status: "Success" });
    expect(rig.registry.asked).toEqual([]);
  });

  it.each(["changed", "always"])("%s asks for a deployment too", async (pull) => {
    const rig = await deployed();
    rig.engine.publish(IMAGE, NEW);
    rig.deployments.deploy("d2", { name: "other", image: IMAGE, pull });
    expect((await rig.untilEnd("d2"))?.status).toBe("Success");
    expect(rig.store.apps().find(({ name }) => name === "other")?.digest).toBe(DIGEST.new);
  });

  it.each(["registry_unreachable", "registry_untrusted", "image_denied"] as const)(
    "always fails where the registry cannot be asked (%s)",
    async (kind) => {
      const rig = await deployed({ pull: "always" });
      fails(rig, kind);
      rig.engine.faults.fail("pullImage", new EngineError("registry_unreachable", "no route to host"), { times: 9 });
      expect(await update(rig)).toMatchObject({ status: "Fail", code: "ImagePullBackOff", details: { reason: kind } });
      expect(rig.engine.container("web")?.status).toBe("running");
    },
  );

  it("is asked by where an update gives it without an image", async () => {
    const rig = await deployed();
    rig.engine.publish(IMAGE, NEW);
    expect((await update(rig, { environments: [] }))?.message).toContain("Nothing to change");
    expect(rig.registry.asked).toEqual([]);
    expect((await update(rig, { pull: "changed" }, {}, "u2"))?.status).toBe("Success");
    expect(reportedDigest(rig)).toBe(DIGEST.new);
    // It is a property of the app from then on, for updates that name an image.
    expect(rig.store.apps()[0]?.spec.pull).toBe("changed");
  });

  it("is of no concern to a repair", async () => {
    const rig = await deployed({ pull: "always" });
    fails(rig, "registry_unreachable");
    rig.engine.publish(IMAGE, NEW);
    await rig.restart();
    rig.deployments.change("s1", { action: "restart", app: "web" });
    expect((await rig.untilEnd("s1"))?.status).toBe("Success");
    expect(rig.registry.asked).toEqual([]);
  });
});
