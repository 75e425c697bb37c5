import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { appState, lastExit } from "../../../../../src/agent/core/app/app-state.ts";
import { explainApp, type AppSnapshot } from "../../../../../src/agent/core/app/explain-app.ts";

const container = {
  status: "running" as const,
  restartCount: 0,
  exitCode: 0,
  oomKilled: false,
  health: "none",
  healthOutput: "",
  runsForMs: 5_000,
} satisfies AppSnapshot["container"];
const RUNNING: AppSnapshot = {
  name: "web",
  image: "example/web:1",
  desired: "running",
  engineError: undefined,
  container: { ...container, health: "none" },
  imagePresent: true,
  missingDevices: [],
  takenPorts: [],
  policyDenial: undefined,
  held: undefined,
  notRepaired: undefined,
  restartPolicy: undefined,
  lastRun: undefined,
  deploying: undefined,
  lastFailure: undefined,
  lastRepair: undefined,
};

const texts = (known: Partial<AppSnapshot>): string =>
  explainApp({ ...RUNNING, ...known })
    .findings.map(({ text }) => text)
    .join("\n");
const cause = (known: Partial<AppSnapshot>): string | undefined => explainApp({ ...RUNNING, ...known }).cause;
const endedCause = (known: AppSnapshot, changes: object): string | undefined =>
  explainApp({ ...known, ...ended(changes) }).cause;
const ended = (changes: object): Partial<AppSnapshot> => ({
  container: { ...container, health: "none", status: "exited", ...changes },
});

describe("why an app does not run", () => {
  it("reports no problem of an app that runs", () => {
    expect(explainApp(RUNNING)).toMatchObject({ cause: undefined, advice: undefined });
    expect(explainApp({ ...RUNNING, held: "the agent crashed 3 times" }).cause).toBeUndefined();
    expect(explainApp(RUNNING).findings.every(({ verdict }) => verdict !== "bad")).toBe(true);
  });

  it.each<[Partial<AppSnapshot>, RegExp]>([
    [{ image: undefined, container: undefined }, /never deployed/],
    [{ image: undefined, deploying: "Pulling image" }, /being deployed/],
    [{ engineError: "no answer" }, /engine cannot be asked about it: no answer/],
    [{ container: undefined }, /container was removed/],
    [{ container: undefined, held: "the agent crashed 3 times" }, /^The agent crashed 3 times\.$/],
    [{ ...ended({ exitCode: 7 }), held: "the agent crashed 3 times" }, /^The agent crashed 3 times\.$/],
    [{ ...ended({ status: "paused" }), held: "the agent crashed 3 times" }, /paused/],
    [{ container: undefined, imagePresent: false }, /container and its image were removed/],
    [
      { ...ended({ exitCode: 137 }), notRepaired: "/srv/data is gone." },
      /^It cannot be started: \/srv\/data is gone\.$/,
    ],
    [{ container: undefined, notRepaired: "/srv/data is gone" }, /^It cannot be started: \/srv\/data is gone\.$/],
    [{ ...ended({ status: "paused" }), notRepaired: "/srv/data is gone" }, /paused/],
    [
      { container: undefined, takenPorts: [{ port: 30_080, holder: "process nginx (pid 4)" }] },
      /Port 30080 is taken by/,
    ],
    [ended({ exitCode: 7 }), /exit code 7/],
    [ended({ oomKilled: true, exitCode: 137 }), /out of memory/],
    [ended({ status: "restarting", exitCode: 1, restartCount: 5 }), /keeps stopping/],
    [ended({ status: "paused" }), /paused/],
    [{ ...ended({ exitCode: 137 }), missingDevices: ["/dev/ttyUSB0"] }, /device file \/dev\/ttyUSB0 is not there/],
    [{ container: undefined, missingDevices: ["/dev/ttyUSB0"] }, /device file \/dev\/ttyUSB0 is not there/],
    [{ failedDisk: "/srv/data" }, /^The disk of \/srv\/data, which it mounts, fails or is gone\./],
    [{ foreign: "another tool made its container anew, with another image" }, /^Another tool made its container anew/],
    [ended({ status: "dead" }), /could not remove its container/],
    [
      ended({ status: "running", restartCount: 4, exitCode: 1 }),
      /keeps stopping: restarted 4 times, the last time 5 s ago/,
    ],
    [ended({ status: "created" }), /never started/],
    [{ container: { ...container, health: "unhealthy", healthOutput: "no route" } }, /health check fails/],
  ])("%o: %s", (known, expected) => {
    expect(cause(known)).toMatch(expected);
  });

  it("does not mention container and image if the engine does not answer", () => {
    const text = texts({ engineError: "no answer", container: undefined, imagePresent: undefined });
    expect(text).not.toMatch(/image is|has no container/);
  });

  it("reports restarts, the last repair, and a failed deployment", () => {
    const seen = ended({ restartCount: 3, exitCode: 1 });
    expect(texts(seen)).toMatch(/restarted it 3 times/);
    expect(texts({ ...seen, lastRepair: { reason: "it was stopped", error: "no space" } })).toMatch(
      /could not: no space/,
    );
    expect(texts({ image: undefined, lastFailure: "No such image" })).toMatch(/No such image/);
  });

  it("says how the run before ended, of a container that runs again with the exit code 0", () => {
    const again = ended({ status: "running", restartCount: 3, exitCode: 0 });
    expect(texts({ ...again, lastRun: { exitCode: 7, oomKilled: false } })).toContain(
      "The run before: ended with exit code 7.",
    );
    expect(explainApp({ ...RUNNING, ...again, lastRun: { exitCode: 137, oomKilled: true } }).advice).toMatch(/memory/);
    expect(explainApp({ ...RUNNING, ...again, lastRun: { exitCode: 127, oomKilled: false } }).advice).toMatch(
      /another image/,
    );
    expect(texts(again)).toContain("The run before: its exit code is not known any more.");
    expect(texts(again)).not.toContain("exit code 0");
  });

  it.each(["no", "on-failure"] as const)(
    "has no problem with an app that has finished, restart policy %s",
    (policy) => {
      const finished = { ...RUNNING, ...ended({ exitCode: 0 }), restartPolicy: policy };
      const { cause, advice, conclusion, findings } = explainApp(finished);
      expect({ cause, advice, conclusion }).toEqual({
        cause: undefined,
        advice: undefined,
        conclusion: "It has finished.",
      });
      expect(findings.map(({ text }) => text)).toContain(
        `It has done its work: it ended with exit code 0, as its restart policy (${policy}) allows.`,
      );
      expect(findings.every(({ verdict }) => verdict !== "bad")).toBe(true);
      // What holds its port now does not matter to it.
      const taken = [{ port: 30_080, holder: "container other" }];
      expect(explainApp({ ...finished, takenPorts: taken }).cause).toBeUndefined();
      expect(endedCause(finished, { exitCode: 7 })).toBe("Ended with exit code 7.");
      expect(explainApp({ ...finished, desired: "stopped" }).cause).toBe("It was stopped on purpose.");
    },
  );

  it("does not promise a new container to an app that is not run again", () => {
    const gone = explainApp({ ...RUNNING, container: undefined, restartPolicy: "no" });
    expect(gone.cause).toBe("Its container was removed, and its restart policy (no) lets it run once only.");
    expect(gone.advice).toBe("Run it again: edge-agent start web");
  });

  it("gives advice whenever there is a problem", () => {
    const status = fc.constantFrom(
      "created",
      "running",
      "paused",
      "restarting",
      "removing",
      "exited",
      "dead",
      "unknown",
    );
    const some = fc.record({
      image: fc.option(fc.string(), { nil: undefined }),
      engineError: fc.option(fc.string(), { nil: undefined }),
      imagePresent: fc.option(fc.boolean(), { nil: undefined }),
      container: fc.option(
        fc.record({
          status,
          restartCount: fc.nat(),
          exitCode: fc.integer({ min: 0, max: 255 }),
          oomKilled: fc.boolean(),
          health: fc.constantFrom("none", "starting", "healthy", "unhealthy"),
          healthOutput: fc.string(),
          runsForMs: fc.nat({ max: 2_000_000 }),
        }),
        { nil: undefined },
      ),
      restartPolicy: fc.constantFrom(undefined, "unless-stopped", "always", "on-failure", "no"),
      takenPorts: fc.array(fc.record({ port: fc.nat(), holder: fc.string() }), { maxLength: 2 }),
    });
    fc.assert(
      fc.property(some, (known) => {
        const { cause, advice, conclusion } = explainApp({ ...RUNNING, ...known });
        const isKnown = known.image !== undefined && known.engineError === undefined;
        const runs =
          known.container?.status === "running" &&
          known.container.health !== "unhealthy" &&
          (known.container.restartCount === 0 || known.container.runsForMs >= 600_000);
        const hasFinished =
          known.container?.status === "exited" &&
          known.container.exitCode === 0 &&
          (known.restartPolicy === "no" || known.restartPolicy === "on-failure");
        const isFine = isKnown && (runs || hasFinished);
        expect([cause === undefined, advice === undefined, conclusion !== undefined]).toEqual([isFine, isFine, isFine]);
      }),
    );
  });
});

describe("the state of an app", () => {
  it("names signals and exit codes of shells", () => {
    const facts = { ...container, health: "none" as const };
    expect(lastExit({ ...facts, exitCode: 137 })).toMatch(/killed from outside/);
    expect(lastExit({ ...facts, exitCode: 127 })).toMatch(/not found/);
    expect(lastExit({ ...facts, exitCode: 3 })).toBe("ended with exit code 3");
  });

  it("is fine after a long run, despite earlier restarts", () => {
    const facts = { ...container, health: "none" as const, restartCount: 3, runsForMs: 600_000 };
    expect(appState({ container: facts })).toEqual({ state: "running", trouble: undefined });
  });

  it("is not missing while it is being deployed", () => {
    expect(appState({ container: undefined, isBusy: true })).toEqual({ state: "deploying", trouble: undefined });
    expect(appState({ container: undefined }).state).toBe("missing");
  });

  it("is finished once an app that may end has ended without an error", () => {
    const facts = { ...container, health: "none" as const, status: "exited" as const };
    const finished = { state: "finished", trouble: undefined };
    expect(appState({ container: facts, restartPolicy: "no" })).toEqual(finished);
    expect(appState({ container: facts, restartPolicy: "on-failure" })).toEqual(finished);
    for (const restartPolicy of ["always", "unless-stopped", undefined] as const) {
      expect(appState({ container: facts, restartPolicy })).toEqual({
        state: "stopped",
        trouble: "ended with exit code 0",
      });
    }
    expect(appState({ container: { ...facts, exitCode: 3 }, restartPolicy: "no" })).toEqual({
      state: "stopped",
      trouble: "ended with exit code 3",
    });
  });

  it("is stopped once its engine has restarted it as often as it may", () => {
    const facts = { ...container, health: "none" as const, status: "exited" as const, exitCode: 3 };
    const givenUp = { ...facts, restartCount: 2, maxRestarts: 2 };
    const restartPolicy = "on-failure" as const;
    expect(appState({ container: givenUp, restartPolicy })).toEqual({
      state: "stopped",
      trouble: "ended with exit code 3; it was restarted 2 times, as often as max_restarts allows",
    });
    expect(appState({ container: { ...givenUp, exitCode: 0 }, restartPolicy }).state).toBe("finished");
    expect(appState({ container: { ...givenUp, maxRestarts: 3 }, restartPolicy }).trouble).toBe(
      "ended with exit code 3",
    );
  });

  it("is not a first start where the engine is between two runs", () => {
    const facts = { ...container, health: "none" as const, status: "created" as const };
    expect(appState({ container: facts }).trouble).toBe("its container was never started");
    expect(appState({ container: { ...facts, restartCount: 3 } })).toEqual({
      state: "restarting",
      trouble: "it keeps stopping: restarted 3 times",
    });
  });
});
