import { describe, expect, it } from "vitest";
import {
  type AppLogBatch,
  type AppLogEnd,
  type AppLogRequest,
  readAppLog,
} from "../../../../src/agent/apps/app-log.ts";
import { EngineError } from "../../../../src/agent/engine/engine-error.ts";
import { AgentRig } from "../../../support/agent-rig.ts";
import type { FakeBehaviour } from "../../../support/fake-engine/fake-image.ts";

const IMAGE = "example/app:1";
const unaborted = new AbortController().signal;

async function deployed(behaviour: FakeBehaviour = {}, fields: object = {}): Promise<AgentRig> {
  const rig = new AgentRig();
  rig.engine.addImage(IMAGE);
  rig.deployments.deploy("d1", { name: "app", image: IMAGE, ...fields });
  await rig.untilEnd("d1");
  // What it does from now on.
  rig.engine.removeImage(IMAGE);
  rig.engine.addImage(IMAGE, { behaviour });
  return rig;
}

/** Reads a log in the background. */
function reading(rig: AgentRig, request: AppLogRequest) {
  const stop = new AbortController();
  const batches: AppLogBatch[] = [];
  const ended = (async (): Promise<AppLogEnd> => {
    const log = readAppLog("app", request, rig.services, stop.signal);
    for (;;) {
      const next = await log.next();
      if (next.done) return next.value;
      batches.push(next.value);
    }
  })();
  ended.catch(() => undefined);
  const lines = () => batches.flatMap(({ lines }) => lines.map(({ text }) => text));
  return { batches, ended, lines, stop: () => stop.abort(new Error("enough")) };
}

describe("an app's log", () => {
  it("is read to its end, its last lines only", async () => {
    await using rig = await deployed();
    rig.engine.container("app")?.write("one", "two", "three");
    const log = reading(rig, { tail: 2, follow: false });
    expect(await log.ended).toBe("read");
    expect(log.lines()).toEqual(["two", "three"]);
    expect(rig.engine.openLogs).toBe(0);
  });

  it("passes values that are not declared secret, also inside words", async () => {
    const values = { LOG_LEVEL: "info", PORT: "8080", MODE: "server", BIND: "0.0.0.0", TZ: "UTC" };
    const environments = Object.entries(values).map(([key, value]) => ({ key, value }));
    await using rig = await deployed({}, { environments });
    const line = "server: info listening on 0.0.0.0:8080 in UTC mode 1 information";
    rig.engine.container("app")?.write(line);
    const log = reading(rig, { tail: 10, follow: false });
    await log.ended;
    expect(log.lines()).toEqual([line]);
  });

  it("masks declared secrets in all forms, and removes control characters", async () => {
    const value = 'very "secret" value';
    const environments = [
      { key: "TOKEN", value, secret: true },
      { key: "MODE", value: "server", secret: false },
    ];
    await using rig = await deployed({}, { environments });
    rig.engine
      .container("app")
      ?.write(
        `token is ${value} on server`,
        JSON.stringify({ value }),
        `?token=${encodeURIComponent(value)}`,
        Buffer.from(value).toString("base64"),
        "\u001b[31mred\u001b[0m \u001b]0;title\u0007\u0000\t.",
      );
    const log = reading(rig, { tail: 10, follow: false });
    await log.ended;
    expect(log.lines()).toEqual([
      "token is *** on server",
      '{"value":"***"}',
      "?token=***",
      "***",
      "\u001b[31mred\u001b[0m \u{fffd}]0;title\u{fffd}\u{fffd}\t.",
    ]);
  });

  it("masks the secrets of the version before as well while it is followed over an update", async () => {
    await using rig = await deployed({}, { environments: [{ key: "TOKEN", value: "first-secret", secret: true }] });
    const log = reading(rig, { tail: 10, follow: true });
    await rig.clock.advance(1_000);
    const environments = [{ key: "TOKEN", value: "second-secret", secret: true }];
    rig.deployments.change("d2", { action: "update", app: "app", spec: { image: IMAGE, environments } });
    expect(await rig.untilEnd("d2")).toMatchObject({ status: "Success" });
    rig.engine.container("app")?.write("was first-secret, is second-secret");
    await rig.clock.advance(2_000);
    expect(log.lines()).toContain("was ***, is ***");
    log.stop();
  });

  it("is not requested in a busy loop if the engine ends the stream at once and reports the app as running", async () => {
    await using rig = await deployed();
    let calls = 0;
    using _counted = rig.engine.faults.onCall(({ phase }) => {
      // Far more than needed: a busy loop fails instead of hanging.
      if (phase === "before" && calls++ > 2_000) throw new Error("spinning");
    });
    const readLogs = rig.engine.readLogs.bind(rig.engine);
    rig.engine.readLogs = (id, request, signal) => readLogs(id, { ...request, follow: false }, signal);
    const log = reading(rig, { tail: 10, follow: true });
    for (let turn = 0; turn < 50; turn++) await rig.clock.advance(0);
    expect(calls).toBeLessThan(10);
    await rig.clock.advance(10_000);
    expect(calls).toBeLessThan(100);
    log.stop();
  });

  it("has the last lines of a run also if the engine has ended the stream without them", async () => {
    await using rig = await deployed({}, { restart_policy: "no" });
    const readLogs = rig.engine.readLogs.bind(rig.engine);
    // As Docker does that starts another file while the one before is read.
    rig.engine.readLogs = async function* passOver(id, request, signal) {
      for await (const lines of readLogs(id, request, signal))
        yield request.follow ? lines.filter(({ text }) => !text.startsWith("passed over")) : lines;
    };
    const container = rig.engine.container("app")!;
    container.write("one");
    const log = reading(rig, { tail: 10, follow: true });
    await rig.clock.advance(1_000);
    container.write("two");
    await rig.clock.advance(1_000);
    container.write("passed over: why it ends");
    container.exit(1);
    await rig.clock.advance(60_000);
    expect(log.lines()).toEqual(["one", "two", "passed over: why it ends"]);
    log.stop();
  });

  it.each([
    [1000, 2],
    // It is no stall if an app that writes little is silent.
    [999, 1],
  ])("with %d lines at once, is opened %d times if the engine then brings no more", async (count, opened) => {
    await using rig = await deployed();
    const readLogs = rig.engine.readLogs.bind(rig.engine);
    let follows = 0;
    rig.engine.readLogs = async function* stall(id, request, signal) {
      if (request.follow) follows++;
      const isStalling = request.follow && follows === 1;
      for await (const lines of readLogs(id, request, signal))
        if (!isStalling || lines.every(({ text }) => text.startsWith("many"))) yield lines;
    };
    const container = rig.engine.container("app")!;
    const log = reading(rig, { tail: 10, follow: true });
    await rig.clock.advance(1_000);
    const many = Array.from({ length: count }, (_, index) => `many ${index}`);
    container.write(...many);
    await rig.clock.advance(2_000);
    container.write("after them");
    await rig.clock.advance(60_000);
    expect(follows).toBe(opened);
    expect(log.lines()).toEqual(opened === 1 ? many : [...many, "after them"]);
    log.stop();
  });

  it("is followed across runs of an app that keeps exiting, each line once", async () => {
    await using rig = await deployed();
    const container = rig.engine.container("app")!;
    container.write("before");
    const log = reading(rig, { tail: 10, follow: true });
    await rig.clock.advance(1_000);
    for (let run = 1; run <= 5; run++) {
      container.write(`run ${run}`, `run ${run} too`, "the same line", "the same line");
      // Ends at once, and runs again a moment later: shorter than the log is looked at.
      container.exit(1);
      await rig.clock.advance(run % 2 === 0 ? 100 : 5_000);
    }
    await rig.clock.advance(60_000);
    const runs = [1, 2, 3, 4, 5].flatMap((run) => [`run ${run}`, `run ${run} too`, "the same line", "the same line"]);
    expect(log.lines()).toEqual(["before", ...runs]);
    expect(log.batches[0]).toMatchObject({ isLive: false });
    expect(log.batches.slice(1).every(({ isLive }) => isLive)).toBe(true);
    log.stop();
    await expect(log.ended).rejects.toThrow("enough");
    expect(rig.engine.openLogs).toBe(0);
  });

  it("shows no existing lines with tail 0, and all new ones", async () => {
    await using rig = await deployed();
    rig.engine.container("app")?.write("long ago");
    await rig.clock.advance(10);
    const log = reading(rig, { tail: 0, follow: true });
    await rig.clock.advance(1_000);
    rig.engine.container("app")?.write("now");
    await rig.clock.advance(1_000);
    expect(log.lines()).toEqual(["now"]);
    log.stop();
    await expect(log.ended).rejects.toThrow("enough");
  });

  it("continues with the container that replaces another, and ends when the app is removed", async () => {
    await using rig = await deployed();
    const log = reading(rig, { tail: 10, follow: true });
    await rig.clock.advance(1_000);
    const [app] = rig.store.apps();
    const { request, id } = rig.engine.container("app")!;
    await rig.engine.removeContainer(id, unaborted);
    await rig.clock.advance(1_000);
    const other = await rig.engine.createContainer(request, unaborted);
    await rig.engine.startContainer(other, unaborted);
    rig.engine.container("app")?.write("from the other");
    rig.store.save({ app: { ...app!, containerId: other } });
    await rig.clock.advance(2_000);
    expect(log.lines()).toEqual(["from the other"]);
    rig.store.save({ removedApp: "app" });
    await rig.engine.removeContainer(other, unaborted);
    await rig.clock.advance(2_000);
    expect(await log.ended).toBe("removed");
    expect(rig.engine.openLogs).toBe(0);
  });

  it("is that of the new container, not followed, if an update removes the old one before it is read", async () => {
    await using rig = await deployed();
    const [app] = rig.store.apps();
    const { request, id } = rig.engine.container("app")!;
    const readLogs = rig.engine.readLogs.bind(rig.engine);
    rig.engine.readLogs = async function* replaceFirst(container, ...rest) {
      if (container === id) {
        await rig.engine.removeContainer(id, unaborted);
        const other = await rig.engine.createContainer(request, unaborted);
        await rig.engine.startContainer(other, unaborted);
        rig.engine.container("app")?.write("from the other");
        rig.store.save({ app: { ...app!, containerId: other } });
      }
      yield* readLogs(container, ...rest);
    };
    const log = reading(rig, { tail: 10, follow: false });
    await rig.clock.advance(2_000);
    expect(await log.ended).toBe("read");
    expect(log.lines()).toEqual(["from the other"]);
  });

  it("ends, not followed, if the engine finds a container and never its log", async () => {
    await using rig = await deployed();
    rig.engine.readLogs = () => {
      throw new EngineError("not_found", "no such container");
    };
    const log = reading(rig, { tail: 10, follow: false });
    await rig.clock.advance(60_000);
    await expect(log.ended).rejects.toMatchObject({ code: "EngineUnavailable" });
  });

  it("reports a missing app, container or engine", async () => {
    await using rig = await deployed();
    await expect(readAppLog("other", { tail: 1, follow: false }, rig.services, unaborted).next()).rejects.toMatchObject(
      {
        code: "AppNotFound",
      },
    );
    await rig.engine.removeContainer("app", unaborted);
    const log = reading(rig, { tail: 1, follow: false });
    expect(await log.ended).toBe("no_container");
  });

  it("closes the engine's stream when the reader stops", async () => {
    await using rig = await deployed();
    const log = readAppLog("app", { tail: 10, follow: true }, rig.services, unaborted);
    expect(await log.next()).toMatchObject({ value: { lines: [] } });
    const next = log.next();
    await rig.clock.advance(1_000);
    rig.engine.container("app")?.write("one");
    await rig.clock.advance(1_000);
    await next;
    expect(rig.engine.openLogs).toBe(1);
    await log.return("read");
    expect(rig.engine.openLogs).toBe(0);
  });
});
