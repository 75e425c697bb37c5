import { describe, expect, it } from "vitest";
import { sendAppLog } from "../../../../src/agent/live/send-app-log.ts";
import type { AppLogChunk } from "../../../../src/protocol/apps/app-log.ts";
import { AgentRig } from "../../../support/agent-rig.ts";

const IMAGE = "example/app:1";
const LIMITS = { bytesPerSecond: 1_000, totalBytes: 50_000 };

async function deployed(): Promise<AgentRig> {
  const rig = new AgentRig();
  rig.engine.addImage(IMAGE);
  rig.deployments.deploy("d1", { name: "app", image: IMAGE });
  await rig.untilEnd("d1");
  return rig;
}

function sendLog(rig: AgentRig, params: { tail?: number; follow?: boolean }, limits = LIMITS) {
  const chunks: AppLogChunk[] = [];
  const stop = new AbortController();
  const request = { app: "app", tail: 1_000, follow: false, previous: false, ...params };
  const send = async (chunk: AppLogChunk) => chunks.push(chunk);
  const ended = sendAppLog(request, { ...rig.services, limits }, send, stop.signal);
  ended.catch(() => undefined);
  return {
    chunks,
    ended,
    stop: () => stop.abort(new Error("enough")),
    texts: () => chunks.flatMap(({ lines }) => lines.map(({ text }) => text)),
    omitted: () => chunks.reduce((sum, { omitted_lines }) => sum + omitted_lines, 0),
    bytes: () => chunks.reduce((sum, { lines }) => sum + JSON.stringify(lines).length, 0),
  };
}

const numbered = (count: number, length = 0) =>
  Array.from({ length: count }, (_, i) => `line ${i}`.padEnd(length, "."));

/** As long as the lines before: a shorter one may fit in where they do not. */
const THE_END = "the end".padEnd(100, ".");

describe("sending an app's log", () => {
  it("sends existing lines in few chunks", async () => {
    await using rig = await deployed();
    rig.engine.container("app")?.write(...numbered(20));
    const log = sendLog(rig, {});
    expect(await log.ended).toBeUndefined();
    expect(log.texts()).toEqual(numbered(20));
    expect(log.chunks).toHaveLength(1);
    expect(log.chunks[0]?.lines[0]).toMatchObject({
      stream: "stdout",
      time: expect.stringMatching(/Z$/) as string,
    });
  });

  it("sends an empty chunk if there are no lines", async () => {
    await using rig = await deployed();
    const log = sendLog(rig, { follow: true });
    await rig.clock.advance(10);
    expect(log.chunks).toEqual([{ lines: [], omitted_lines: 0, omitted_bytes: 0 }]);
    log.stop();
    await expect(log.ended).rejects.toThrow("enough");
    expect(rig.engine.openLogs).toBe(0);
  });

  it("delays existing lines to the rate limit, and leaves none out", async () => {
    await using rig = await deployed();
    rig.engine.container("app")?.write(...numbered(100, 100));
    const log = sendLog(rig, {});
    await rig.clock.advance(1_000);
    expect(log.bytes()).toBeLessThan(6_000);
    await rig.clock.advance(60_000);
    await log.ended;
    expect(log.texts()).toEqual(numbered(100, 100));
    expect(log.omitted()).toBe(0);
  });

  it("leaves out and counts new lines above the rate limit, in their place", async () => {
    await using rig = await deployed();
    const log = sendLog(rig, { follow: true });
    await rig.clock.advance(100);
    for (let second = 0; second < 20; second++) {
      rig.engine.container("app")?.write(...numbered(50, 100));
      await rig.clock.advance(1_000);
    }
    await rig.clock.advance(10_000);
    expect(log.texts().length + log.omitted()).toBe(20 * 50);
    expect(log.omitted()).toBeGreaterThan(500);
    expect(log.bytes()).toBeLessThan(LIMITS.bytesPerSecond * (20 + 4) * 1.2);
    log.stop();
    await expect(log.ended).rejects.toThrow("enough");
  });

  it("sends the last lines of a burst, though nothing follows them", async () => {
    await using rig = await deployed();
    const log = sendLog(rig, { follow: true });
    await rig.clock.advance(100);
    const burst = numbered(500, 100);
    rig.engine.container("app")?.write(...burst, THE_END);
    await rig.clock.advance(5_000);
    expect(log.texts().slice(-3)).toEqual([...burst.slice(-2), THE_END]);
    expect(log.texts().length + log.omitted()).toBe(501);
    expect(log.bytes()).toBeLessThan(LIMITS.bytesPerSecond * (5 + 4) * 1.2);
    // What is sent after the gap is in one piece, not a line here and there.
    const counts = log.chunks.map(({ omitted_lines }) => omitted_lines).filter((count) => count > 0);
    expect(counts).toEqual([log.omitted()]);
    log.stop();
    await expect(log.ended).rejects.toThrow("enough");
  });

  it("sends the newest lines that the limit in total leaves room for", async () => {
    await using rig = await deployed();
    const log = sendLog(rig, { follow: true }, { bytesPerSecond: 1_000, totalBytes: 4_300 });
    await rig.clock.advance(100);
    rig.engine.container("app")?.write(...numbered(500, 100), THE_END);
    await rig.clock.advance(10_000);
    expect(log.texts().at(-1)).toBe(THE_END);
    expect(log.bytes()).toBeLessThanOrEqual(4_300);
    rig.engine.container("app")?.write("one more".padEnd(1_000));
    await rig.clock.advance(10_000);
    expect(await log.ended).toContain("4300 bytes");
  });

  it("sends the lines that wait when the app is removed", async () => {
    await using rig = await deployed();
    const log = sendLog(rig, { follow: true });
    await rig.clock.advance(100);
    rig.engine.container("app")?.write(...numbered(500, 100), THE_END);
    rig.deployments.change("d2", { action: "remove", app: "app" });
    await rig.untilEnd("d2");
    await rig.clock.advance(10_000);
    expect(await log.ended).toBe("The app was removed.");
    expect(log.texts().at(-1)).toBe(THE_END);
    expect(log.texts().length + log.omitted()).toBe(501);
  });

  it("ends with a message when the total limit is reached", async () => {
    await using rig = await deployed();
    rig.engine.container("app")?.write(...numbered(2_000, 100));
    const log = sendLog(rig, { tail: 10_000, follow: true }, { bytesPerSecond: 1_000_000, totalBytes: 50_000 });
    await rig.clock.advance(10_000);
    expect(await log.ended).toContain("50000 bytes");
    expect(log.bytes()).toBeLessThanOrEqual(50_000);
    expect(log.bytes()).toBeGreaterThan(45_000);
    expect(rig.engine.openLogs).toBe(0);
  });

  it("reads no more from the engine than a slow line takes", async () => {
    await using rig = await deployed();
    rig.engine.container("app")?.write(...numbered(5_000, 200));
    const released = Promise.withResolvers<void>();
    const stop = new AbortController();
    let sent = 0;
    const request = { app: "app", tail: 10_000, follow: false, previous: false };
    const source = { ...rig.services, limits: { bytesPerSecond: 10_000_000, totalBytes: 10_000_000 } };
    const slow = async (chunk: AppLogChunk) => {
      sent += chunk.lines.length;
      await released.promise;
    };
    const ended = sendAppLog(request, source, slow, stop.signal);
    await rig.clock.advance(5_000);
    expect(sent).toBeLessThan(200);
    released.resolve();
    await ended;
    expect(sent).toBe(5_000);
  });
});
