import { expect, it } from "vitest";
import type { DataUsage } from "../../../src/edgectl/api/usage.ts";
import { renderDataUsage } from "../../../src/edgectl/views/usage-view.ts";
import { createTheme } from "../../../src/lib/terminal/theme.ts";
import { MemoryOutput } from "../../support/edgectl/memory-output.ts";

const both = (bytes: number): { sent_bytes: number; received_bytes: number } => ({
  sent_bytes: bytes,
  received_bytes: bytes,
});

it("the agent's traffic has columns for rare purposes, and for those of a newer service, where they were used", () => {
  const by_purpose = { agent: both(0), other: both(20_000), firmware: both(30_000) };
  const day = { day: "2026-11-19", by_purpose, overhead_estimate_bytes: 0, by_app: {}, interfaces: {} };
  const usage: DataUsage = { from: day.day, to: day.day, live: true, reported_at: null, days: [day], sims: [] };
  const text = renderDataUsage(usage, createTheme(new MemoryOutput(), {}), undefined);
  expect(text).toMatch(/DAY +CONTROL +TELEMETRY +LOGS +PULLS +REMOTE_ACCESS +OTHER +FIRMWARE +OVERHEAD~/);
  expect(text).toMatch(/total .*40\.0 kB +60\.0 kB/);
});
