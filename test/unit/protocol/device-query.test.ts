import { describe, expect, expectTypeOf, it } from "vitest";
import {
  type AppReport,
  type AppRunState,
  type DeviceFacts,
  MAX_REPORTED_APPS,
  type ReportDelta,
} from "../../../src/protocol/apps/app-report.ts";
import {
  type AppLogChunk,
  type AppLogLine,
  type LogsParams,
  MAX_LOG_LINE_LENGTH,
  MAX_LOG_TAIL_LINES,
} from "../../../src/protocol/apps/app-log.ts";
import type { DataUsageParams, DeviceDataUsage, TrafficPurpose } from "../../../src/protocol/link/data-usage.ts";
import type { AppAction, DeploymentAction } from "../../../src/protocol/deployments/deployment-action.ts";
import { isQueryKind, QUERIES, type QueryAnswer, type QueryParams } from "../../../src/protocol/link/device-query.ts";
import type { DeviceState, NetworkInterface } from "../../../src/protocol/link/device-state.ts";

const both = (bytes: number): object => ({ sent_bytes: bytes, received_bytes: 2 * bytes });

/** Returns the purposes of an answer to `data_usage` as they are read; `undefined` if the answer is refused. */
function purposesIn(by_purpose: object): object | undefined {
  const day = { day: "2026-11-20", by_purpose, overhead_estimate_bytes: 0, by_app: {}, interfaces: {} };
  return QUERIES.data_usage.answer.safeParse({ days: [day], deployments: [], budget: null }).data?.days[0]?.by_purpose;
}

describe("queries to a device", () => {
  it("are of a closed set of kinds", () => {
    expect(Object.keys(QUERIES).every(isQueryKind)).toBe(true);
    expect(["", "toString", "__proto__", "reboot"].some(isQueryKind)).toBe(false);
  });

  it("have parameters with sensible defaults", () => {
    expect(QUERIES.logs.params.parse({ app: "a" })).toEqual({ app: "a", tail: 200, follow: false, previous: false });
    expect(QUERIES.stats.params.parse({})).toEqual({ follow: false, interval_s: 2 });
    expect(QUERIES.app.params.parse({ app: "a" })).toEqual({ app: "a", reveal: false });
    expect(QUERIES.data_usage.params.safeParse({ from: "2026-11-1", to: "2026-11-02" }).success).toBe(false);
  });

  it("are bounded, and so are their answers", () => {
    expect(QUERIES.logs.params.safeParse({ app: "a", tail: MAX_LOG_TAIL_LINES + 1 }).success).toBe(false);
    const line = { stream: "stderr", time: "2026-11-20T10:00:00Z", text: "x".repeat(MAX_LOG_LINE_LENGTH) };
    expect(QUERIES.logs.answer.safeParse({ lines: [line] }).success).toBe(true);
    expect(QUERIES.logs.answer.safeParse({ lines: [{ ...line, text: `${line.text}x` }] }).success).toBe(false);
    const removed_apps = Array.from({ length: MAX_REPORTED_APPS + 1 }, () => "a");
    const report = { base: null, hash: "h", apps: [], removed_apps: [] };
    expect(QUERIES.report.answer.safeParse(report).success).toBe(true);
    expect(QUERIES.report.answer.safeParse({ ...report, removed_apps }).success).toBe(false);
  });

  it("take the purposes of a newer agent as other traffic, so that no byte is lost", () => {
    expect(purposesIn({ control: both(1), other: both(2), firmware: both(3), toString: both(4) })).toEqual({
      control: both(1),
      other: both(9),
    });
    expect(purposesIn({ firmware: { sent_bytes: "1", received_bytes: 2 } })).toBeUndefined();
    expect(purposesIn(Object.fromEntries(Array.from({ length: 501 }, (_, i) => [`p${i}`, both(1)])))).toBeUndefined();
  });

  it("have answers of the protocol's other types", () => {
    expectTypeOf<QueryAnswer<"report">>().toEqualTypeOf<ReportDelta>();
    expectTypeOf<QueryAnswer<"device">>().toEqualTypeOf<DeviceState>();
    expectTypeOf<QueryAnswer<"logs">>().toEqualTypeOf<AppLogChunk>();
    expectTypeOf<AppLogChunk["lines"][number]>().toEqualTypeOf<AppLogLine>();
    expectTypeOf<QueryParams<"logs">>().toEqualTypeOf<LogsParams>();
    expectTypeOf<QueryParams<"data_usage">>().toEqualTypeOf<DataUsageParams>();
    expectTypeOf<QueryAnswer<"data_usage">>().toEqualTypeOf<DeviceDataUsage>();
    expectTypeOf<AppReport["state"]>().toEqualTypeOf<AppRunState>();
    expectTypeOf<AppAction>().toExtend<DeploymentAction>();
    expectTypeOf<NetworkInterface["kind"]>().toExtend<string>();
    expectTypeOf<DeviceState>().toExtend<DeviceFacts>();
    expectTypeOf<keyof DeviceDataUsage["days"][number]["by_purpose"]>().toEqualTypeOf<TrafficPurpose>();
  });
});
