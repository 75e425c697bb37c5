import { expect, test } from "vitest";
import type { Member } from "../../../../src/edgectl/api/fleets.ts";
import { renderMembers, renderReapplied } from "../../../../src/edgectl/views/fleet-view.ts";
import { retryText } from "../../../../src/edgectl/views/rollout-words.ts";
import { createTheme } from "../../../../src/lib/terminal/theme.ts";
import { MemoryOutput } from "../../../support/edgectl/memory-output.ts";

const theme = createTheme(new MemoryOutput(), {});

const member: Member = {
  asset_id: "a",
  asset_name: "Pump house",
  serial_number: "GW-1",
  revision: 3,
  state: "missing",
  since: 1_795_000_000,
  reported_at: 1_795_000_000,
  message: "web is not there.",
  differences: [{ app: "web", kind: "missing", by: null }],
  conflict: null,
  target_state: null,
};
const rendered = (fields: Partial<Member>) => renderMembers([{ ...member, ...fields }], theme, undefined);

test("a member that somebody has changed says by whom, or that it is not known", () => {
  expect(rendered({})).toContain("web is not there. It is not known by whom.");
  const removed = { message: "web was removed.", differences: [{ app: "web", kind: "missing", by: "local" }] };
  expect(rendered(removed)).toContain("web was removed. By a command on the device.");
  const waiting = { state: "waiting", message: "The device is not connected.", differences: [] };
  expect(rendered(waiting)).not.toContain("by whom");
});

test("a reapply says of each member since when it is so, and who did it", () => {
  const { asset_id, asset_name, serial_number, message, since } = member;
  const reapplied = { asset_id, asset_name, serial_number, state: "drifted", since, message };
  const differences = [{ app: "web", kind: "changed", by: "local" }];
  const text = renderReapplied({ assets: 1, members: [{ ...reapplied, differences }] }, theme, undefined);
  expect(text).toContain("drifted  2026-11-18 11:06:40  web is not there. By a command on the device.");
  const unknown = renderReapplied({ assets: 1, members: [{ ...reapplied, differences: [] }] }, theme, undefined);
  expect(unknown).toContain("web is not there. It is not known by whom.");
});

test("repairs are counted, and the next one is named only while there is something to repair", () => {
  const repair = { count: 1, next_at: 1_795_000_300 };
  const current = rendered({ state: "current", message: null, differences: [], repair });
  expect(current).toMatch(/ {2}Repaired once\.$/);
  expect(rendered({ repair: { ...repair, count: 2 } })).toMatch(/Repaired 2 times; next at \d{4}-/);
  expect(rendered({ repair: { count: 6, next_at: null } })).toContain("Repaired 6 times; left alone until a reapply.");
});

test("a retry says what it takes and what it leaves out", () => {
  const plan = { revision: 4, assets: 1, current: 0, left: 0, superseded: null, under_way: null };
  expect(retryText(plan)).toBe("Brings revision 4 to the 1 asset that failed or refused it.");
  const superseded = { id: "rol_2", revision: 5, state: "running" };
  expect(retryText({ ...plan, assets: 3, current: 2, left: 1, superseded })).toBe(
    "Brings revision 4 to the 3 assets that failed or refused it. 2 assets of those that failed run it by now. " +
      "1 asset of those that failed left the fleet. Supersedes the rollout of revision 5, which is running.",
  );
  expect(retryText({ ...plan, under_way: "rol_3" })).toBe("Its retry is under way already: rol_3.");
});
