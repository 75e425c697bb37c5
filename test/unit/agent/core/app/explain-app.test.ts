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
  takenPorts: [],
  policyDenial: undefined,
  deploying: undefined,
  lastFailure: undefined,
  lastRepair: undefined,
};

const texts = (known: Partial<AppSnapshot>): string =>
  explainApp({ ...RUNNING, ...known })
    .findings.map(({ text }) => text)
    .join("\n");
const cause = (known: Partial<AppSnapshot>): string | undefined => explainApp({ ...RUNNING, ...known }).cause;
const ended = (changes: object): Partial<AppSnapshot> => ({
  container: { ...container, health: "none", status: "exited", ...changes },
});

describe("why an app does not run", () => {
  it("reports no problem of an app that runs", () => {
    expect(explainApp(RUNNING)).toMatchObject({ cause: undefined, advice: undefined });
    expect(explainApp(RUNNING).findings.every(({ verdict }) => verdict !== "bad")).toBe(true);
  });

  it.each<[Partial<AppSnapshot>, RegExp]>([
    [{ image: undefined, container: undefined }, /never deployed/],
    [{ image: undefined, deploying: "Pulling image" }, /being deployed/],
    [{ engineError: "no answer" }, /engine does not answer/],
    [{ container: undefined }, /container was removed/],
    [{ container: undefined, imagePresent: false }, /container and its image were removed/],
    [
      { container: undefined, takenPorts: [{ port: 30_080, holder: "process nginx (pid 4)" }] },
      /Port 30080 is taken by/,
    ],
    [ended({ exitCode: 7 }), /exit code 7/],
    [ended({ oomKilled: true, exitCode: 137 }), /out of memory/],
    [ended({ status: "restarting", exitCode: 1, restartCount: 5 }), /keeps stopping/],
    [ended({ status: "paused" }), /paused/],
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
      takenPorts: fc.array(fc.record({ port: fc.nat(), holder: fc.string() }), { maxLength: 2 }),
    });
    fc.assert(
      fc.property(some, (known) => {
        const { cause, advice } = explainApp({ ...RUNNING, ...known });
        const runs =
          known.image !== undefined &&
          known.engineError === undefined &&
          known.container?.status === "running" &&
          known.container.health !== "unhealthy" &&
          (known.container.restartCount === 0 || known.container.runsForMs >= 600_000);
        expect([cause === undefined, advice === undefined]).toEqual([runs, runs]);
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
    expect(appState(facts, false)).toEqual({ state: "running", trouble: undefined });
  });

  it("is not missing while it is being deployed", () => {
    expect(appState(undefined, true)).toEqual({ state: "deploying", trouble: undefined });
    expect(appState(undefined, false).state).toBe("missing");
  });
});
