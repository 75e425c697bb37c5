import { generateKeyPairSync } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { STALLED_AFTER_MS } from "../../../../src/agent/images/pull-slot.ts";
import { Semaphore } from "../../../../src/lib/semaphore.ts";
import { UpdateAgentRig } from "../../../support/updates/update-agent-rig.ts";
import { waitFor } from "../../../support/wait-for.ts";

const VERSION = "1.1.0";
const ID = "dep_1";
const HOUR_MS = 3_600_000;

describe("an update that cannot be carried out", () => {
  let rig: UpdateAgentRig;
  let requests: number;
  /** Answers in place of the registry, if it returns `true`. */
  let answer: UpdateAgentRig["intercept"];

  beforeEach(async () => {
    rig = await UpdateAgentRig.create();
    requests = 0;
    answer = () => false;
    rig.intercept = (request, response) => {
      requests++;
      return answer(request, response);
    };
  });
  afterEach(() => rig[Symbol.asyncDispose]());

  /** Time passes, and the agent starts again: whatever would be repeated is. */
  const live = async (): Promise<void> => {
    for (let hour = 0; hour < 24; hour++) await rig.clock.advance(HOUR_MS);
    await rig.restart();
    for (let hour = 0; hour < 24; hour++) await rig.clock.advance(HOUR_MS);
  };

  it("is refused once: nothing asks the registry for it again, and the next one is carried out", async () => {
    rig.update(ID, { image: await rig.push(VERSION, { key: generateKeyPairSync("ed25519").privateKey }) });
    expect(await rig.ended(ID)).toMatchObject({ code: "AgentReleaseUntrusted" });
    const asked = requests;
    await live();
    expect(requests).toBe(asked);
    expect(rig.events(ID).filter(({ status }) => status !== "Running")).toHaveLength(1);
    rig.update("dep_2", { image: await rig.push(VERSION) });
    expect(await rig.handedOver("dep_2")).toMatchObject({ action: "install" });
  });

  it("with another hash than was signed is fetched three times at most, and the next one is carried out", async () => {
    const image = await rig.push(VERSION);
    const wrong = Buffer.alloc(rig.layerSizes(VERSION)[1] ?? 0, "x");
    const right = new Map(rig.registry.blobs);
    for (const [digest, bytes] of right) if (bytes.length === wrong.length) rig.registry.blobs.set(digest, wrong);
    rig.update(ID, { image });
    expect(await rig.ended(ID)).toMatchObject({ status: "Fail", details: { reason: "wrong_content" } });
    expect(rig.layerRequests).toBe(3);
    await live();
    expect(rig.layerRequests).toBe(3);
    expect(rig.request).toBeUndefined();
    for (const [digest, bytes] of right) rig.registry.blobs.set(digest, bytes);
    rig.update("dep_2", { image });
    expect(await rig.handedOver("dep_2")).toMatchObject({ action: "install" });
  });

  it("because its download hangs gives its place to the downloads of apps", async () => {
    const slots = new Semaphore(1);
    rig.services = { bounds: { slots } };
    await rig.restart();
    const hanging = Promise.withResolvers<void>();
    rig.intercept = () => {
      if (rig.layerRequests > 0) hanging.resolve();
      // Never answered: the registry ends it with itself.
      return rig.layerRequests > 0;
    };
    rig.update(ID, { image: await rig.push(VERSION) });
    await hanging.promise;
    const place = slots.acquire(new AbortController().signal);
    await rig.clock.advance(STALLED_AFTER_MS);
    (await place)[Symbol.dispose]();
    expect(rig.store.deployment(ID)).toMatchObject({ outcome: "pending" });
  });

  it("because the service is away for a moment goes on when it is back, and says so", async () => {
    rig.services = { bounds: { attempts: 5 } };
    await rig.restart();
    let refusals = 3;
    answer = (_request, response) => {
      if (refusals === 0) return false;
      refusals--;
      response.writeHead(503).end();
      return true;
    };
    rig.update(ID, { image: await rig.push(VERSION) });
    await waitFor("the release to be handed over", async () => {
      await rig.clock.advance(1_000);
      return rig.store.deployment(ID)?.agentUpdate?.handedOver !== undefined;
    });
    expect(rig.events(ID).filter(({ message }) => message.includes("The registry cannot be reached"))).toHaveLength(3);
  });

  it("because only its signature cannot be had for a moment goes on, and is not refused as unsigned", async () => {
    rig.services = { bounds: { attempts: 5 } };
    await rig.restart();
    let refusals = 3;
    answer = (request, response) => {
      if (refusals === 0 || !request.url?.includes("/referrers/")) return false;
      refusals--;
      response.writeHead(503).end();
      return true;
    };
    rig.update(ID, { image: await rig.push(VERSION) });
    await waitFor("the release to be handed over", async () => {
      await rig.clock.advance(1_000);
      expect(rig.events(ID).find(({ status }) => status !== "Running")).toBeUndefined();
      return rig.store.deployment(ID)?.agentUpdate?.handedOver !== undefined;
    });
    expect(refusals).toBe(0);
  });

  it("because the service stays away ends with that, and is not skipped", async () => {
    rig.services = { bounds: { attempts: 2 } };
    await rig.restart();
    answer = (_request, response) => {
      response.writeHead(503).end();
      return true;
    };
    rig.update(ID, { image: await rig.push(VERSION) });
    const end = await waitFor("the end", async () => {
      await rig.clock.advance(60_000);
      return rig.events(ID).find(({ status }) => status !== "Running");
    });
    expect(end).toMatchObject({ status: "Fail", code: "ImagePullBackOff" });
    const asked = requests;
    await live();
    expect(requests).toBe(asked);
  });
});
