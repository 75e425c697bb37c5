import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { LayerRig } from "../../support/download/layer-rig.ts";
import { FaultyRegistry } from "../../support/registry/faulty-registry.ts";
import { RegistryProxy } from "../../support/registry/registry-proxy.ts";

const MEGABYTES = 4;

let rig: LayerRig;
beforeAll(async () => void (rig = await LayerRig.start(MEGABYTES)));
afterAll(() => rig[Symbol.asyncDispose]());
afterEach(() => rig.clear());

const before = (): Promise<FaultyRegistry> => FaultyRegistry.before(rig.registry.port);

describe("a registry", () => {
  test("that sends a wrong byte is asked again, and no wrong byte remains", async () => {
    await using registry = await before();
    registry.fault = ({ number }) => (number === 1 ? { kind: "corrupt", at: 1_000_000 } : undefined);
    const log = await rig.fetch(registry.host);
    expect(await rig.isThere()).toBe(true);
    expect(log.drops).toBe(1);
    expect(log.troubles.map(({ kind }) => kind)).toEqual(["wrong_content"]);
    expect(log.received).toBe(2 * rig.blob.size);
  });

  test("that always sends a wrong byte is asked three times, and nothing remains", async () => {
    await using registry = await before();
    registry.fault = () => ({ kind: "corrupt", at: 1_000_000 });
    await expect(rig.fetch(registry.host)).rejects.toMatchObject({ kind: "wrong_content" });
    expect(registry.requests.length).toBe(3);
    expect(await rig.parts.idle()).toEqual([expect.objectContaining({ bytes: 0 })]);
  });

  test("that ends too early is asked for the rest", async () => {
    await using registry = await before();
    registry.fault = ({ number }) => (number <= 2 ? { kind: "truncate", after: 1_500_000 } : undefined);
    const log = await rig.fetch(registry.host);
    expect(log.received).toBe(rig.blob.size);
    expect(registry.requests.map(({ range }) => range)).toEqual([undefined, "bytes=1500000-", "bytes=3000000-"]);
  });

  test.each([
    ["more", 1_000],
    ["fewer", -1_000],
  ])("that announces %s bytes than there are is asked again before anything is written", async (_what, by) => {
    await using registry = await before();
    registry.fault = ({ number }) => (number === 1 ? { kind: "wrong length", by } : undefined);
    const log = await rig.fetch(registry.host);
    expect(await rig.isThere()).toBe(true);
    expect(log.troubles.map(({ kind }) => kind)).toEqual(["refused"]);
    expect(log.drops).toBe(0);
    expect(log.received - rig.blob.size).toBeLessThanOrEqual(65_536);
  });

  test("without range support sends present bytes again; they are counted, and the layer arrives", async () => {
    await using registry = await before();
    registry.fault = ({ number }) => (number === 1 ? { kind: "truncate", after: 1_000_000 } : { kind: "no ranges" });
    const log = await rig.fetch(registry.host);
    expect(await rig.isThere()).toBe(true);
    expect(log.received).toBe(rig.blob.size + 1_000_000);
    expect(log.drops).toBe(0);
  });

  test("that rejects the range makes the download start again", async () => {
    await using registry = await before();
    registry.fault = ({ number }) => {
      if (number === 1) return { kind: "cut", after: 1_000_000 };
      return number === 2 ? { kind: "refuse", status: 416 } : undefined;
    };
    const log = await rig.fetch(registry.host);
    expect(await rig.isThere()).toBe(true);
    expect(log.drops).toBe(1);
  });

  test.each([429, 503])("that responds with %i is not asked again before its Retry-After", async (status) => {
    await using registry = await before();
    registry.fault = ({ number }) => (number === 1 ? { kind: "refuse", status, retryAfter: "1" } : undefined);
    const began = performance.now();
    const log = await rig.fetch(registry.host);
    expect(performance.now() - began).toBeGreaterThan(990);
    expect(log.troubles).toMatchObject([{ kind: "refused", retryInMs: 1_000 }]);
    expect(await rig.isThere()).toBe(true);
  });

  test("that redirects is followed again for each request", async () => {
    await using registry = await before();
    registry.fault = ({ number }) => ({ kind: "redirect", ...(number === 1 && { cutAfter: 1_000_000 }) });
    const log = await rig.fetch(registry.host);
    expect(await rig.isThere()).toBe(true);
    expect(log.cuts).toBe(1);
    expect(registry.requests.length).toBe(2);
  });

  test("whose token expires during a layer is asked for a new one, and the download resumes", async () => {
    await using front = await RegistryProxy.start({ upstream: rig.registry.host, tokens: {} });
    await using registry = await FaultyRegistry.before(front.port);
    registry.fault = ({ number }) => (number === 2 ? { kind: "cut", after: 1_000_000 } : undefined);
    const log = await rig.fetch(registry.host, { onInterruption: () => front.revokeTokens() });
    expect(await rig.isThere()).toBe(true);
    expect(log.received).toBeLessThanOrEqual(rig.blob.size);
    const authorizations = registry.requests.map(({ authorization }) => authorization);
    expect(new Set(authorizations).size).toBe(3);
    expect(registry.requests.at(-1)?.range).toMatch(/^bytes=\d{6,}-$/);
  });

  test.each([
    [404, "image_not_found"],
    [401, "image_denied"],
  ])("that responds with %i in the middle ends the download", async (status, kind) => {
    await using registry = await before();
    registry.fault = ({ number }) => (number === 1 ? { kind: "cut", after: 1_000_000 } : { kind: "refuse", status });
    await expect(rig.fetch(registry.host)).rejects.toMatchObject({ kind });
  });
});
