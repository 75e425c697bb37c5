import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TroubleDetector } from "../../../../../src/agent/core/report/trouble-detector.ts";
import type { AppReport } from "../../../../../src/protocol/apps/app-report.ts";

const MINUTE_MS = 60_000;

function app(fields: Partial<AppReport> & { readonly deployment?: string } = {}): AppReport {
  const { deployment = "d1", ...rest } = fields;
  return {
    name: "web",
    image: "web:1",
    image_digest: null,
    state: "running",
    desired_state: "running",
    since: 1,
    restarts: 0,
    spec: {},
    last_deployment: { deployment_id: deployment, action: "deploy", status: "Success", finished_at: 1 },
    ...rest,
  };
}

const apps = (...list: readonly AppReport[]) => new Map(list.map((one) => [one.name, one]));
const FINE = apps(app());

describe("the first trouble of an app", () => {
  it.each(["restarting", "unhealthy", "missing", "stopped"] as const)("is that it is %s", (state) => {
    expect(new TroubleDetector().observe(FINE, apps(app({ state })), 0)).toBe(true);
  });

  it("is not what its owner wants, nor what is reported already", () => {
    const stopped = apps(app({ state: "stopped", desired_state: "stopped" }));
    expect(new TroubleDetector().observe(FINE, stopped, 0)).toBe(false);
    const unhealthy = apps(app({ state: "unhealthy" }));
    expect(new TroubleDetector().observe(unhealthy, apps(app({ state: "restarting" })), 0)).toBe(false);
    expect(new TroubleDetector().observe(unhealthy, FINE, 0)).toBe(false);
  });

  it("is that of an app that was not reported yet", () => {
    expect(new TroubleDetector().observe(undefined, apps(app({ state: "missing" })), 0)).toBe(true);
    expect(new TroubleDetector().observe(apps(), apps(app({ state: "missing" })), 0)).toBe(true);
  });

  it("comes again after ten minutes in order, after a deployment, and after the app was removed", () => {
    const troubled = apps(app({ state: "restarting" }));
    const detector = new TroubleDetector();
    expect(detector.observe(FINE, troubled, 0)).toBe(true);
    expect(detector.observe(FINE, troubled, 9 * MINUTE_MS)).toBe(false);
    expect(detector.observe(FINE, troubled, 18 * MINUTE_MS)).toBe(false);
    expect(detector.observe(FINE, FINE, 19 * MINUTE_MS)).toBe(false);
    expect(detector.observe(FINE, troubled, 28 * MINUTE_MS)).toBe(true);
    expect(detector.observe(FINE, apps(app({ state: "restarting", deployment: "d2" })), 29 * MINUTE_MS)).toBe(true);
    expect(detector.observe(FINE, apps(), 30 * MINUTE_MS)).toBe(false);
    expect(detector.observe(apps(), troubled, 31 * MINUTE_MS)).toBe(true);
  });

  it("of one app is not hidden by the same trouble of another", () => {
    const detector = new TroubleDetector();
    const [a, b] = [app({ name: "a" }), app({ name: "b" })];
    const crashing = app({ name: "a", state: "restarting" });
    expect(detector.observe(apps(a, b), apps(crashing, b), 0)).toBe(true);
    const both = apps(crashing, app({ name: "b", state: "unhealthy" }));
    expect(detector.observe(apps(a, b), both, MINUTE_MS)).toBe(true);
    expect(detector.observe(apps(a, b), both, 2 * MINUTE_MS)).toBe(false);
  });

  it("of one deployment is found at most once in ten minutes, whatever happens", () => {
    const state = fc.constantFrom("running", "restarting", "unhealthy", "missing", "stopped" as const);
    const looks = fc.array(fc.tuple(state, state, fc.integer({ min: 0, max: 5 * MINUTE_MS })), { maxLength: 200 });
    fc.assert(
      fc.property(looks, (steps) => {
        const detector = new TroubleDetector();
        let nowMs = 0;
        const found = steps.flatMap(([reported, current, passedMs]) => {
          nowMs += passedMs;
          const isNew = detector.observe(apps(app({ state: reported })), apps(app({ state: current })), nowMs);
          return isNew ? [nowMs] : [];
        });
        for (const [index, at] of found.entries()) {
          if (index > 0) expect(at - (found[index - 1] ?? 0)).toBeGreaterThanOrEqual(10 * MINUTE_MS);
        }
      }),
    );
  });
});
