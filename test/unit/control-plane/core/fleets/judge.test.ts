import { describe, expect, test } from "vitest";
import { judge, REPORT_GRACE_MS } from "../../../../../src/control-plane/core/fleets/judge.ts";
import { goalOf, unknownRevision } from "../../../../../src/control-plane/core/fleets/fleet.ts";
import type { AppReport } from "../../../../../src/protocol/apps/app-report.ts";
import { applySchema } from "../../../../../src/protocol/apps/apply.ts";
import { imageOf, modelGoal } from "../../../../support/fleets/model-revisions.ts";
import { aDeployment, aMarkedApp, anApp, aReport, facts, NOW } from "../../../../support/fleets/records.ts";

const goal = modelGoal(2, undefined);
const AT = NOW + 2_000;

const judged = (app: AppReport, more: Parameters<typeof facts>[0] = {}, nowMs = AT) =>
  judge(goal, facts({ deployment: aDeployment(), report: aReport([app]), ...more }), nowMs);

describe("what a device runs", () => {
  test("is as specified, up since its last start", () => {
    expect(judged(anApp(2, { since: NOW / 1000 + 1 }))).toEqual({ kind: "as_specified", upSinceMs: NOW + 1_000 });
    expect(judged(aMarkedApp(2))).toEqual({ kind: "as_specified", upSinceMs: NOW });
  });

  test("counts from the end of the deployment at the earliest, and from the report where the device knows no time", () => {
    expect(judged(anApp(2, { since: NOW / 1000 - 500 }))).toEqual({ kind: "as_specified", upSinceMs: NOW });
    expect(judged(anApp(2, { since: null }))).toEqual({ kind: "as_specified", upSinceMs: NOW + 1_000 });
    // A clock that is ahead does not make the soak longer than from the report on.
    expect(judged(anApp(2, { since: NOW / 1000 + 9_999 }))).toEqual({ kind: "as_specified", upSinceMs: NOW + 1_000 });
  });

  test.each(["restarting", "unhealthy", "missing", "stopped"] as const)("is not up while the app is %s", (state) => {
    expect(judged(anApp(2, { state }))).toEqual({
      kind: "not_up",
      why: `web is ${state}.`,
      code: state === "unhealthy" ? "Unhealthy" : "CrashLoopBackOff",
      isCrashing: state === "restarting",
      isUnsure: false,
    });
  });

  test("says how often an app has ended and with what, also while its device holds back what came after", () => {
    const crashing = anApp(2, { state: "restarting", restarts: 4, last_exit: { code: 137, out_of_memory: true } });
    const why = "web is restarting: 4 restarts, exit code 137 (out of memory).";
    expect(judged(crashing)).toMatchObject({ kind: "not_up", why });
    const held = { report: aReport([crashing], { heldSinceMs: NOW + 2_000 }) };
    expect(judged(crashing, held)).toMatchObject({
      kind: "not_up",
      code: "CrashLoopBackOff",
      isUnsure: false,
      why: `${why} The device holds its next report back, since its apps change often.`,
    });
    const once = aReport([{ ...crashing, restarts: 1 }], { heldSinceMs: NOW + 2_000 });
    expect(judged(crashing, { report: once })).toMatchObject({ kind: "not_up", isUnsure: true });
    // What it said before the deployment says nothing about it, and an app that was up may be down by now.
    const early = { report: aReport([crashing], { heldSinceMs: NOW + 2_000, atMs: NOW - 60_000 }) };
    expect(judged(crashing, early).kind).toBe("unknown");
    expect(judged(anApp(2), { report: aReport([anApp(2)], { heldSinceMs: NOW + 2_000 }) }).kind).toBe("unknown");
  });

  test("is as specified after the end of an app that may end by itself", () => {
    const app = { name: "job", image: imageOf(2), restart_policy: "no" as const };
    const job = goalOf("kiosk", 2, applySchema.parse({ project: "kiosk", apps: [{ app }] }));
    const report = aReport([{ ...anApp(2, { state: "stopped" }), name: "job", spec: {} }]);
    expect(judge(job, facts({ deployment: aDeployment(), report }), AT).kind).toBe("as_specified");
  });

  test("is down after the last restart of an app that may fail so often", () => {
    const app = { name: "job", image: imageOf(2), restart_policy: "on-failure" as const, max_restarts: 3 };
    const job = goalOf("kiosk", 2, applySchema.parse({ project: "kiosk", apps: [{ app }] }));
    const ended = (code: number) => {
      const one = { ...anApp(2, { state: "stopped", last_exit: { code } }), name: "job", spec: {} };
      return judge(job, facts({ deployment: aDeployment(), report: aReport([one]) }), AT);
    };
    expect(ended(0).kind).toBe("as_specified");
    expect(ended(1)).toMatchObject({ kind: "not_up", why: "job is stopped: exit code 1." });
  });

  test.each([
    ["another image", anApp(1), `web has another image: ${imageOf(1)}.`],
    ["an app that a person has stopped", anApp(2, { desired_state: "stopped", state: "stopped" }), "web was stopped."],
    ["the mark of a change", aMarkedApp(2, true), "web was changed on the device."],
    ["the mark of another revision", aMarkedApp(1), "web is from revision 1."],
    [
      "another variable",
      anApp(2, { spec: { name: "web", image: imageOf(2), environments: [] } }),
      "web differs in environments.",
    ],
    [
      "another port",
      anApp(2, { spec: { ...anApp(2).spec, ports: [{ host_port: 30_080, target_port: 80 }] } }),
      "web differs in ports.",
    ],
  ])("has drifted with %s", (_name, app, what) => {
    expect(judged(app)).toMatchObject({ kind: "drifted", what });
  });

  test("has drifted without an app, or with one that must be absent", () => {
    expect(judge(goal, facts({ report: aReport([]) }), AT)).toMatchObject({
      kind: "drifted",
      what: "web is not there.",
    });
    const removed = modelGoal(undefined, 2);
    expect(judge(removed, facts({ report: aReport([anApp(2)]) }), AT)).toMatchObject({
      kind: "drifted",
      what: "web is there.",
    });
    const gone = judge(removed, facts({ deployment: aDeployment(), report: aReport([]) }), AT);
    expect(gone).toEqual({ kind: "as_specified", upSinceMs: NOW });
  });

  test("has the image of a tag if its digest is the same", () => {
    const image_digest = imageOf(2).split("@")[1] ?? "";
    expect(judged(anApp(2, { image: "registry.example.com/web:2", image_digest })).kind).toBe("as_specified");
  });

  test("compares files without their contents, also those of a request with defaults", () => {
    const files = [{ target: "/etc/web.conf", content: "secret" }];
    const app = { name: "web", image: imageOf(2), files };
    const withFile = goalOf("kiosk", 2, applySchema.parse({ project: "kiosk", apps: [{ app }] }));
    const spec = { name: "web", image: imageOf(2) };
    const stored = { target: "/etc/web.conf", size: 6, sha256: "ab", mode: "0444" };
    const judgedFile = (reported: object[]) =>
      judge(withFile, facts({ report: aReport([anApp(2, { spec: { ...spec, files: reported } })]) }), AT);
    expect(judgedFile([stored]).kind).toBe("as_specified");
    expect(judgedFile([{ ...stored, mode: "0400" }])).toMatchObject({ kind: "drifted", what: "web differs in files." });
  });

  test("is judged by its image alone where the report has no specification", () => {
    expect(judged(anApp(2, { spec: {} })).kind).toBe("as_specified");
  });

  test("is not known without a current report", () => {
    expect(judged(anApp(2), { report: undefined }).kind).toBe("unknown");
    expect(judged(anApp(2), { report: aReport([anApp(2)], { heldSinceMs: NOW }) }).kind).toBe("unknown");
    const early = aReport([anApp(2)], { atMs: NOW - 1_000 });
    expect(judged(anApp(2), { report: early }).kind).toBe("unknown");
    // A device whose apps have not changed sends no report.
    expect(judged(anApp(2), { report: early }, NOW + REPORT_GRACE_MS).kind).toBe("as_specified");
    const away = { isConnected: false, connectedSinceMs: undefined };
    expect(judged(anApp(2), { report: early, ...away }, NOW + REPORT_GRACE_MS).kind).toBe("unknown");
  });

  test("is not judged by an earlier report when it has just come back: the report of now is on its way", () => {
    const before = aReport([anApp(1)], { atMs: NOW - 1_000 });
    const back = { report: before, connectedSinceMs: NOW + 600_000 };
    expect(judged(anApp(1), back, NOW + 600_000).kind).toBe("unknown");
    expect(judged(anApp(1), back, NOW + 600_000 + REPORT_GRACE_MS - 1).kind).toBe("unknown");
    expect(judged(anApp(1), back, NOW + 600_000 + REPORT_GRACE_MS).kind).toBe("drifted");
  });

  test("is told by a report of the second in which the deployment ended, and by one with its marks at any time", () => {
    expect(judged(anApp(2), { report: aReport([anApp(2)], { atMs: NOW - 999 }) }).kind).toBe("as_specified");
    expect(judged(aMarkedApp(2), { report: aReport([aMarkedApp(2)], { atMs: NOW - 5_000 }) }).kind).toBe(
      "as_specified",
    );
  });
});

test("a device may have a revision that the service does not know", () => {
  const fleet = { name: "kiosk", lastRevision: 2 };
  expect(unknownRevision(fleet, [aMarkedApp(2), anApp(9)])).toBeUndefined();
  expect(unknownRevision(fleet, [aMarkedApp(2), aMarkedApp(5)])).toBe(5);
  expect(unknownRevision({ ...fleet, name: "other" }, [aMarkedApp(5)])).toBeUndefined();
});
