import { describe, expect, it } from "vitest";
import type { AccountEvent } from "../../../src/protocol/assets/account-event.ts";
import type { Device } from "../../../src/protocol/api-types.ts";
import { applyEvent } from "../../../src/console/pages/assets/asset-row.ts";
import { DEFAULT_COLUMNS, readColumns, toggleColumn, writeColumns } from "../../../src/console/pages/assets/columns.ts";
import { countFilters, NO_FILTERS, readFilters, toParameters } from "../../../src/console/pages/assets/filters.ts";
import { checkList, isDone } from "../../../src/console/pages/enrol/check-list.ts";
import { plainLine } from "../../../src/console/pages/log/log-ring.ts";
import { someState } from "../../support/control-plane/device-samples.ts";

const NOW = 1_795_000_000;

function device(state: object = {}, fields: Partial<Device> = {}): Device {
  return {
    device: { ...someState(), clock: NOW, ...state },
    data_usage: { today: null, budget: null },
    live: true,
    reachable: true,
    last_seen: NOW,
    reported_at: NOW,
    age_s: 0,
    ...fields,
  };
}

const states = (input: Device | undefined): Record<string, string> =>
  Object.fromEntries(checkList({ device: input }).map(({ id, state }) => [id, state]));

describe("the check list of an enrolment", () => {
  it("is green when all is right", () => {
    const checks = checkList({ device: device() });
    expect(checks.map(({ state }) => state)).toEqual(["good", "good", "good", "good", "good"]);
    expect(isDone(checks)).toBe(true);
  });

  it("waits before the device has linked, and does not trust an old report", () => {
    expect(new Set(Object.values(states(undefined)))).toEqual(new Set(["waiting"]));
    const never = device({}, { reachable: false, live: false, last_seen: null });
    expect(new Set(Object.values(states(never)))).toEqual(new Set(["waiting"]));
    const lost = device({}, { reachable: false, live: false });
    expect(states(lost)).toMatchObject({ link: "bad", clock: "waiting", engine: "waiting" });
    expect(isDone(checkList({ device: lost }))).toBe(false);
  });

  it.each([
    [{ clock: NOW - 3600 }, "clock", "3600 s behind"],
    [{ disk_free_bytes: 1000 }, "disk", "1.0 kB of 8.0 GB free"],
    [{ engine: null }, "engine", "does not answer"],
    [
      {
        interfaces: [
          { name: "wwan0", kind: "cellular", is_up: false, addresses: [], received_bytes: 0, sent_bytes: 0 },
        ],
      },
      "network",
      "The modem wwan0 has no address",
    ],
  ])("says what is wrong and what to do: %j", (state, id, text) => {
    const check = checkList({ device: device(state) }).find((each) => each.id === id);
    expect(check).toMatchObject({ state: "bad", next: expect.stringMatching(/./) });
    expect(check?.text).toContain(text);
  });

  it("does not call unknown what an older agent cannot say wrong", () => {
    const { clock: _, ...older } = { ...someState(), clock: 0 };
    const checks = checkList({ device: { ...device(), device: older } });
    expect(checks.find(({ id }) => id === "clock")?.state).toBe("unknown");
    expect(isDone(checks)).toBe(true);
  });
});

const ROW = {
  serial_number: "GW-1",
  name: "Gateway 1",
  type: "",
  created_at: NOW,
  updated_at: NOW,
  status: "active",
  connected: false,
  last_seen: null,
  agent_version: null,
  accepted_at: null,
  tags: {},
  attention: [],
} as const;

const row = (uuid: string) => ({ ...ROW, uuid });

describe("the list of assets", () => {
  it("keeps its filters in the address, and leaves out values that it does not know", () => {
    const filters = { ...NO_FILTERS, q: "pump 7", connected: "false", attention: "disk_low" } as const;
    expect(readFilters(new URLSearchParams(toParameters(filters)))).toEqual(filters);
    expect(readFilters(new URLSearchParams("status=<b>&connected=maybe&attention=toString&q="))).toEqual(NO_FILTERS);
  });

  it("counts its filters without the search, which is always in view", () => {
    expect(countFilters({ ...NO_FILTERS, q: "pump" })).toBe(0);
    expect(countFilters({ ...NO_FILTERS, q: "pump", connected: "false", type: "gateway" })).toBe(2);
  });

  it("changes a row by what an event says, and nothing else", () => {
    const pages = [
      { assets: [row("a"), row("b")], next_cursor: "1" },
      { assets: [row("c")], next_cursor: null },
    ];
    const event = { id: "1", timestamp: 1_795_000_000, asset_id: "c" };
    const connected = applyEvent(pages, { ...event, type: "device.connected", agent_version: "2.0.0" });
    expect(connected[0]).toBe(pages[0]);
    expect(connected[1]?.assets).toEqual([{ ...row("c"), connected: true, last_seen: NOW, agent_version: "2.0.0" }]);
    expect(applyEvent(connected, { ...event, type: "device.disconnected" })[1]?.assets[0]).toMatchObject({
      connected: false,
    });
    expect(applyEvent(pages, { ...event, type: "device.reported", attention: ["disk_low"] })[1]?.assets).toMatchObject([
      { attention: ["disk_low"] },
    ]);
    expect(applyEvent(pages, { ...event, type: "device.disconnected", last_seen: 7 })[1]?.assets[0]).toMatchObject({
      connected: false,
      last_seen: 7,
    });
    expect(applyEvent(pages, { ...event, type: "asset.removed" })[1]?.assets).toEqual([]);
    expect(applyEvent(pages, { ...event, asset_id: "d", type: "device.disconnected" })).toBe(pages);
  });

  it("shows the attention that events tell, and not seen only while that may be", () => {
    const asset = { ...row("c"), attention: ["not_seen" as const, "update_waiting" as const] };
    const pages = [{ assets: [asset], next_cursor: null }];
    const about = { id: "1", timestamp: 1_795_000_000, asset_id: "c" };
    const deployment = { ...about, deployment_id: "dep_1", app: "web", action: "deploy" as const };
    const shown = (event: AccountEvent) => applyEvent(pages, event)[0]?.assets[0]?.attention;
    expect(shown({ ...about, type: "device.connected", agent_version: "2.0.0" })).toEqual(["update_waiting"]);
    expect(shown({ ...about, type: "device.reported", attention: ["disk_low"] })).toEqual(["disk_low"]);
    expect(shown({ ...deployment, type: "deployment.moved", step: "pulling" })).toEqual(asset.attention);
    expect(shown({ ...deployment, type: "deployment.moved", step: "received", attention: [] })).toEqual(["not_seen"]);
    const ended = { ...deployment, type: "deployment.ended" as const, status: "Fail" as const };
    expect(shown({ ...ended, attention: ["deployment_failed"] })).toEqual(["not_seen", "deployment_failed"]);
  });

  it("keeps the chosen columns, always with the name", () => {
    expect(readColumns(null)).toEqual(DEFAULT_COLUMNS);
    expect(readColumns("sims,nonsense")).toEqual(["name", "sims"]);
    const changed = toggleColumn(toggleColumn(DEFAULT_COLUMNS, "link"), "created");
    expect(readColumns(writeColumns(changed))).toEqual(changed);
    expect(toggleColumn(["name"], "name")).toEqual(["name"]);
  });
});

it("a line of a log loses its colours and keeps everything else", () => {
  expect(plainLine("\u001b[1;31mred\u001b[0m <b>\u001b[2J\u202e\r")).toBe("red <b>\u001b[2J\u202e");
});
