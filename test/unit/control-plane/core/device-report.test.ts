import fc from "fast-check";
import { expect, test } from "vitest";
import { applyReportDelta, type DeviceReport } from "../../../../src/control-plane/core/device-report.ts";
import type { AppReport, ReportDelta } from "../../../../src/protocol/apps/app-report.ts";
import { someApp, someFacts } from "../../../support/control-plane/device-samples.ts";

const change = (fields: Partial<ReportDelta>): ReportDelta => ({
  base: null,
  hash: "h",
  apps: [],
  removed_apps: [],
  ...fields,
});

type Apps = ReadonlyMap<string, AppReport>;

const someApps: fc.Arbitrary<Apps> = fc
  .dictionary(fc.constantFrom("a", "b", "c", "d"), fc.constantFrom("running", "stopped", "missing"))
  .map((states) => new Map(Object.entries(states).map(([name, state]) => [name, someApp(name, { state })])));

/** The delta that a device sends between two states. */
function difference(from: Apps, to: Apps, base: string, hash: string): ReportDelta {
  const isChanged = ([name, app]: [string, AppReport]): boolean => from.get(name)?.state !== app.state;
  return change({
    base,
    hash,
    apps: [...to].filter(isChanged).map(([, app]) => app),
    removed_apps: [...from.keys()].filter((name) => !to.has(name)),
  });
}

test("a sequence of deltas leads to the device's last state", () => {
  fc.assert(
    fc.property(fc.array(someApps, { minLength: 1, maxLength: 8 }), (states) => {
      let held: DeviceReport | undefined;
      for (const [index, apps] of states.entries()) {
        const before = states[index - 1];
        const told = before
          ? difference(before, apps, `h${index - 1}`, `h${index}`)
          : change({ hash: "h0", apps: [...apps.values()] });
        held = applyReportDelta(held, told);
        expect(held?.hash).toBe(`h${index}`);
      }
      const names = [...(states.at(-1)?.keys() ?? [])].toSorted();
      expect(held?.apps.map(({ name }) => name)).toEqual(names);
      for (const app of held?.apps ?? []) expect(app.state).toBe(states.at(-1)?.get(app.name)?.state);
    }),
  );
});

test("a delta to another report than the stored one changes nothing, nor does one without a stored report", () => {
  const held = applyReportDelta(undefined, change({ hash: "h1", apps: [someApp("a")] }));
  expect(applyReportDelta(held, change({ base: "h0", hash: "h2" }))).toBeUndefined();
  expect(applyReportDelta(undefined, change({ base: "h1", hash: "h2" }))).toBeUndefined();
});

test("device facts stay until a new value or a complete report", () => {
  const held = applyReportDelta(undefined, change({ hash: "h1", device: someFacts({ hostname: "one" }) }));
  const later = applyReportDelta(held, change({ base: "h1", hash: "h2" }));
  expect(later?.device?.hostname).toBe("one");
  expect(
    applyReportDelta(later, change({ base: "h2", hash: "h3", device: someFacts({ hostname: "two" }) }))?.device,
  ).toEqual(someFacts({ hostname: "two" }));
  expect(applyReportDelta(later, change({ hash: "h4" }))?.device).toBeUndefined();
});

test("removals stay until others are told, or a complete report", () => {
  const removals = [{ name: "web", by: "local" as const, since: 1_795_000_000 }];
  const held = applyReportDelta(undefined, change({ hash: "h1", removals }));
  expect(held?.removals).toEqual(removals);
  const later = applyReportDelta(held, change({ base: "h1", hash: "h2" }));
  expect(later?.removals).toEqual(removals);
  expect(applyReportDelta(later, change({ base: "h2", hash: "h3", removals: [] }))?.removals).toEqual([]);
  expect(applyReportDelta(later, change({ hash: "h4" }))?.removals).toBeUndefined();
});
