import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AgentStore, StoreError } from "../../../../src/agent/store/store.ts";
import { Releases } from "../../../../src/updater/releases.ts";
import { PACKAGE_VERSION, UNFLUSHED } from "../../../support/updates/update-rig.ts";
import { UpdateAgentRig } from "../../../support/updates/update-agent-rig.ts";
import { waitFor } from "../../../support/wait-for.ts";

const VERSION = "1.1.0";
const ID = "dep_1";

describe("an update of the agent", () => {
  let rig: UpdateAgentRig;
  let image: string;

  beforeEach(async () => {
    rig = await UpdateAgentRig.create();
    image = await rig.push(VERSION);
  });
  afterEach(() => rig[Symbol.asyncDispose]());

  const pin = (): void => writeFileSync(rig.device.path("releases/pin"), "package\n");
  const onTrial = async (): Promise<void> => {
    rig.update(ID, { image });
    expect(await rig.handedOver(ID)).toMatchObject({ action: "install", downgrade: false, again: false });
    expect(await rig.device.handle()).toMatchObject({ ok: true, version: VERSION });
  };

  it("ends with a Success that the new version sends, after it has confirmed itself", async () => {
    await onTrial();
    expect(await rig.restart()).toBe(VERSION);
    await rig.until("the trial to be told", () => rig.events(ID).some(({ step }) => step === "verifying"));
    expect(rig.events(ID).find(({ step }) => step === "verifying")).toMatchObject({
      details: { version: VERSION, waiting_s: 900 },
    });
    expect(await rig.device.confirm(VERSION)).toMatchObject({ ok: true });
    expect(await rig.ended(ID)).toMatchObject({ status: "Success", details: { version: VERSION } });
    const received = rig.traffic.reduce((sum, { purpose, bytes }) => sum + (purpose === "agent" ? bytes : 0), 0);
    expect(received).toBeGreaterThan(0);
    expect(rig.layerRequests).toBe(1);
    expect(rig.events(ID).filter(({ status }) => status !== "Running")).toHaveLength(1);
  });

  it("is in the log of the device, step by step, with one line for its end", async () => {
    await onTrial();
    await rig.restart();
    await rig.device.confirm(VERSION);
    await rig.ended(ID);
    const steps = rig.logged(ID).map(({ step }) => step);
    expect(steps).toEqual(expect.arrayContaining(["checking", "pulling", "starting", "done"]));
    expect(steps.filter((step) => step === "done")).toHaveLength(1);
  });

  it("ends with a Fail of the version before after three crashes, with the last lines of the new one", async () => {
    mkdirSync(rig.device.path("releases/log"));
    writeFileSync(rig.device.path("bin/journalctl"), "#!/bin/sh\necho 'first line'\necho 'TypeError: broken'\n", {
      mode: 0o755,
    });
    await onTrial();
    for (let start = 1; start <= 3; start++) expect(await rig.restart()).toBe(VERSION);
    expect(await rig.restart()).toBe("package");
    expect(await rig.ended(ID)).toMatchObject({
      status: "Fail",
      code: "AgentUpdateFailed",
      details: { version: VERSION, reason: "crashed", logs: ["first line", "TypeError: broken"] },
    });
    // The same one is refused from then on, before a byte of it is fetched, unless it is asked for again.
    rig.update("dep_2", { image });
    expect(await rig.ended("dep_2")).toMatchObject({ code: "AgentReleaseSetAside", details: { reason: "set_aside" } });
    rig.update("dep_3", { image, again: true });
    expect(await rig.handedOver("dep_3")).toMatchObject({ again: true });
    expect(await rig.device.handle()).toMatchObject({ ok: true });
    expect(await rig.restart()).toBe(VERSION);
    await rig.until(
      "the second trial to be seen",
      () => rig.store.deployment("dep_3")?.agentUpdate?.handedOver?.attempt === 2,
    );
    expect(await rig.device.confirm(VERSION)).toMatchObject({ ok: true });
    expect(await rig.ended("dep_3")).toMatchObject({ status: "Success" });
    expect(rig.layerRequests).toBe(1);
  });

  it("goes on while a release that could not confirm in time is tried again", async () => {
    writeFileSync(rig.device.path("config.json"), JSON.stringify({ agent_updates: { trial_s: 60 } }));
    await onTrial();
    await rig.restart();
    await rig.until("the trial to be seen", () => rig.store.deployment(ID)?.agentUpdate?.handedOver?.attempt === 1);
    const tick = async (): Promise<void> => void (await rig.device.script("release-trial", "tick"));
    const untilBack = async (): Promise<void> => {
      while (rig.device.state.trial) await tick();
      expect(await rig.restart()).toBe("package");
    };
    await untilBack();
    await rig.until("the retry to be told", () => rig.events(ID).some(({ step }) => step === "rolling_back"));
    // The updater takes the mark away, and on a slow disk a while to put the release on trial.
    const mark = rig.device.path("releases/set-aside", VERSION);
    const text = readFileSync(mark);
    rmSync(mark);
    let looks = 0;
    await rig.until("a few looks", () => ++looks > 5);
    writeFileSync(mark, text);
    expect(rig.store.deployment(ID)).toMatchObject({ outcome: "pending" });
    for (const attempt of [2, 3]) {
      rig.device.ask({ action: "install", again: true });
      expect(await rig.device.handle()).toMatchObject({ ok: true });
      await rig.restart();
      await rig.until(
        "the trial to be seen",
        () => rig.store.deployment(ID)?.agentUpdate?.handedOver?.attempt === attempt,
      );
      await untilBack();
    }
    expect(await rig.ended(ID)).toMatchObject({ code: "AgentUpdateFailed", details: { reason: "unconfirmed" } });
  });

  it("ends with a Fail if the package has replaced the release", async () => {
    await onTrial();
    await rig.restart();
    await rig.until("the trial to be seen", () => rig.store.deployment(ID)?.agentUpdate?.handedOver?.attempt === 1);
    new Releases(rig.device.path("releases"), UNFLUSHED).preferPackage("2.0.0");
    expect(await rig.restart()).toBe("package");
    expect(await rig.ended(ID)).toMatchObject({ code: "AgentUpdateFailed", details: { reason: "replaced" } });
  });

  it("a dry run says what it costs and changes nothing", async () => {
    rig.update(ID, { image }, { dry_run: true });
    const event = await rig.ended(ID);
    expect(event).toMatchObject({ status: "Success", details: { dry_run: true, version: VERSION } });
    expect(event.details?.["download_bytes"]).toBeGreaterThan(0);
    expect([rig.layerRequests, rig.request]).toEqual([0, undefined]);
  });

  it.each([["unwritable"], ["pinned"]])("ends when the trial has ended without a mark: %s", async (reason) => {
    await onTrial();
    // As a full disk lets release-trial, or a pin does, before the version before has seen the trial.
    if (reason === "pinned") pin();
    rmSync(rig.device.path("releases/trial"));
    expect(await rig.restart()).toBe("package");
    expect(await rig.ended(ID)).toMatchObject({ status: "Fail", code: "AgentUpdateFailed", details: { reason } });
    rmSync(rig.device.path("releases/pin"), { force: true });
    rig.update("dep_2", { image });
    expect(await rig.handedOver("dep_2")).toMatchObject({ action: "install" });
  });

  it("fetches only the layers that the device does not have, and all of them if its own are damaged", async () => {
    const price = async (id: string): Promise<number> => {
      rig.update(id, { image }, { dry_run: true });
      return Number((await rig.ended(id)).details?.["download_bytes"]);
    };
    const sizes = rig.layerSizes(VERSION);
    expect(await price("dep_2")).toBe(sizes[1]);
    writeFileSync(rig.device.path("package/lib/library.so.1"), "librarY");
    expect(await price("dep_3")).toBe(sizes[0]! + sizes[1]!);
    await onTrial();
    expect(rig.layerRequests).toBe(2);
  });

  it("what runs already is no change", async () => {
    rig.update(ID, { image: await rig.push(PACKAGE_VERSION) });
    expect(await rig.ended(ID)).toMatchObject({
      status: "Success",
      message: expect.stringContaining("Nothing to change") as string,
    });
    expect(rig.request).toBeUndefined();
  });

  const foreign = async (): Promise<void> =>
    void (image = await rig.push(VERSION, { key: generateKeyPairSync("ed25519").privateKey }));
  it.each<[string, () => unknown, object, string, string]>([
    ["of a foreign key", foreign, {}, "AgentReleaseUntrusted", "untrusted_key"],
    [
      "without a signature",
      async () => (image = await rig.push("1.1.1", { key: undefined })),
      {},
      "AgentReleaseUntrusted",
      "unsigned",
    ],
    [
      "to a device without a key",
      () => rmSync(rig.device.path("package/release-keys/own.pem")),
      {},
      "AgentUpdateKeysMissing",
      "no_keys",
    ],
    ["to a device that is pinned", pin, {}, "AgentPinned", "pinned"],
    ["that is older", async () => (image = await rig.push("0.9.5")), {}, "AgentVersionRefused", "not_newer"],
    [
      "that the device does not go back to",
      async () => (image = await rig.push("0.9.5")),
      { downgrade: true },
      "AgentVersionRefused",
      "downgrade_not_allowed",
    ],
    [
      "that cannot follow",
      async () => (image = await rig.push(VERSION, { floor: "1.0.5" })),
      {},
      "AgentVersionRefused",
      "too_far",
    ],
    [
      "for another machine",
      async () => (image = await rig.push(VERSION, { architecture: "arm64" })),
      {},
      "ImagePullBackOff",
      "wrong_platform",
    ],
    ["of another version than asked for", () => undefined, { version: "1.2.0" }, "AgentReleaseInvalid", "malformed"],
  ])("one %s is refused before its first byte", async (_what, prepare, request, code, reason) => {
    await prepare();
    rig.update(ID, { image, ...request });
    expect(await rig.ended(ID)).toMatchObject({ status: "Fail", code, details: { reason } });
    expect([rig.layerRequests, rig.request]).toEqual([0, undefined]);
  });

  it("one that is larger than the request allows, or than the disk, is refused before its first byte", async () => {
    rig.update(ID, { image }, { max_download_bytes: 10 });
    expect(await rig.ended(ID)).toMatchObject({ code: "DataBudgetExceeded" });
    rig.services = { bounds: { freeBytes: () => Promise.resolve(1_000_000) } };
    await rig.restart();
    rig.update("dep_2", { image });
    expect(await rig.ended("dep_2")).toMatchObject({ code: "InsufficientDisk", details: { free_bytes: 1_000_000 } });
    expect([rig.layerRequests, rig.request]).toEqual([0, undefined]);
  });

  it("an agent that no package has installed says that it does not update itself", async () => {
    rig.services = { versions: { packageFolder: "/nowhere" } };
    await rig.restart();
    rig.update(ID, { image });
    expect(await rig.ended(ID)).toMatchObject({ code: "AgentUpdateUnsupported" });
  });

  it("an index with very many entries costs a bounded read, and no further request", async () => {
    const entry = { mediaType: "a/b", digest: `sha256:${"0".repeat(64)}`, size: 1 };
    const bytes = Buffer.from(
      JSON.stringify({ schemaVersion: 2, manifests: Array.from({ length: 200_000 }, () => entry) }),
    );
    const type = "application/vnd.oci.image.index.v1+json";
    rig.registry.manifests.set("large", { type, bytes });
    const requested: string[] = [];
    rig.intercept = ({ url = "" }) => requested.push(url) < 0;
    rig.update(ID, { image: image.replace(/:[^:]*$/, ":large") });
    expect(await rig.ended(ID)).toMatchObject({ status: "Fail", code: "ImagePullBackOff" });
    expect(requested).toHaveLength(1);
  });

  it("ends also if its failure could not be stored at first", async () => {
    pin();
    let failures = 2;
    const save: AgentStore["save"] = (change) => {
      if (change.deployment?.failure && failures-- > 0) throw new StoreError("full", "the disk is full");
      rig.store.save(change);
    };
    const store = new Proxy(rig.store, {
      get(target, name) {
        const value: unknown = name === "save" ? save : Reflect.get(target, name, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    rig.services = { store };
    await rig.restart();
    rig.update(ID, { image });
    const ended = await waitFor("the end", async () => {
      await rig.clock.advance(60_000);
      return rig.events(ID).find(({ status }) => status !== "Running");
    });
    expect(ended).toMatchObject({ code: "AgentPinned" });
    expect(failures).toBeLessThanOrEqual(0);
  });

  it("of two at once the second is refused, which names the first", async () => {
    rig.update(ID, { image });
    rig.update("dep_2", { image });
    expect(await rig.ended("dep_2")).toMatchObject({ code: "AgentUpdateInProgress", details: { deployment_id: ID } });
    await rig.handedOver(ID);
  });

  it("waits for other deployments; a power cut meanwhile costs no second download", async () => {
    rig.isWorking = true;
    rig.update(ID, { image });
    await waitFor("the wait", () =>
      rig.events(ID).some(({ message }) => message.includes("Waiting for other deployments")),
    );
    expect([rig.layerRequests, rig.request]).toEqual([1, undefined]);
    rig.isWorking = false;
    await rig.restart();
    await rig.handedOver(ID);
    expect(rig.layerRequests).toBe(1);
  });

  it("asks the updater again if a power cut came before the request was written", async () => {
    rig.update(ID, { image });
    const first = await rig.handedOver(ID);
    rmSync(rig.device.path("state/agent-update/request.json"));
    await rig.restart();
    await rig.until("the request", () => rig.request);
    expect(rig.request).toEqual(first);
  });

  it("ends with the updater's refusal, as of a pin that came in between", async () => {
    rig.update(ID, { image });
    await rig.handedOver(ID);
    pin();
    expect(await rig.device.handle()).toMatchObject({ ok: false, code: "pinned" });
    expect(await rig.ended(ID)).toMatchObject({ code: "AgentPinned", details: { pinned_to: "package" } });
  });

  it("is cancelled before the release is handed over without a trace", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.intercept = ({ url = "" }, response) => {
      if (!url.includes("/blobs/")) return false;
      resolve();
      // Held until the registry is closed.
      return !response.writableEnded;
    };
    rig.update(ID, { image });
    await promise;
    expect(rig.updates.cancel(ID, { code: "DeploymentCancelled", message: "Cancelled.", step: "done" })).toBe(true);
    expect(await rig.ended(ID)).toMatchObject({ status: "Fail", code: "DeploymentCancelled" });
    expect(rig.request).toBeUndefined();
  });

  it("stays if it is cancelled after it was confirmed, and says so", async () => {
    await onTrial();
    await rig.restart();
    expect(await rig.device.confirm(VERSION)).toMatchObject({ ok: true });
    expect(await rig.ended(ID)).toMatchObject({ status: "Success" });
    rig.updates.cancel(ID, { code: "DeploymentCancelled", message: "Cancelled.", step: "done" });
    expect(rig.events(ID).at(-1)).toMatchObject({ status: "Fail", message: "Cancelled. The new version stays." });
    expect(rig.device.state).toMatchObject({ current: VERSION, trial: undefined });
  });

  it("is cancelled on trial by going back", async () => {
    await onTrial();
    await rig.restart();
    await rig.until("the trial to be seen", () => rig.store.deployment(ID)?.agentUpdate?.handedOver?.attempt === 1);
    const cancelled = { code: "DeploymentCancelled", message: "Cancelled.", step: "done" } as const;
    rig.updates.cancel(ID, cancelled);
    await rig.until("the request to end the trial", () => rig.request?.action === "abandon");
    expect(await rig.device.handle()).toMatchObject({ ok: true });
    expect(await rig.restart()).toBe("package");
    expect(await rig.ended(ID)).toMatchObject({ code: "DeploymentCancelled", details: { reason: "cancelled" } });
    expect(rig.device.state.setAside.get(VERSION)).toMatchObject({ reason: "cancelled" });
  });
});
