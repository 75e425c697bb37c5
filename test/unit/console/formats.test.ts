import { describe, expect, it, test } from "vitest";
import { nextPath } from "../../../src/console/session/after-sign-in.ts";
import { toCurl } from "../../../src/console/pages/developer/to-curl.ts";
import { ACTION_GROUPS, shownDetails } from "../../../src/console/pages/audit/audit-words.ts";
import { formatAge, formatDuration, formatRoundedDuration } from "../../../src/console/parts/durations.ts";
import { formatDetails } from "../../../src/console/parts/failure-details.ts";
import { formatBytes } from "../../../src/console/parts/format-bytes.ts";
import { AUDIT_ACTIONS } from "../../../src/control-plane/core/people/audit-actions.ts";

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.0 kB"],
  [9_940, "9.9 kB"],
  [9_960, "10 kB"],
  [999_499, "999 kB"],
  [999_500, "1.0 MB"],
  [91_000_000, "91 MB"],
  [2e18, "2000 PB"],
])("%d bytes are %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test.each([
  [-5, "0 s"],
  [59.9, "59 s"],
  [60, "1 min"],
  [3599, "59 min"],
  [86_399, "23 h"],
  [864_000, "10 d"],
])("%d seconds are %s", (seconds, text) => {
  expect(formatDuration(seconds)).toBe(text);
});

test.each([
  [90 * 86_400 - 30, "90 d"],
  [36 * 3600 - 1, "1 d"],
  [89.6, "1 min"],
  [4.4, "4 s"],
])("in %d seconds is in %s", (seconds, text) => {
  expect(formatRoundedDuration(seconds)).toBe(text);
});

test.each([
  [90, "1 min ago"],
  [0, "0 s ago"],
  // The service's clock may be a little ahead.
  [-2, "0 s ago"],
  [-60, "in 1 min"],
])("the age of what was %d seconds ago is %s", (seconds, text) => {
  expect(formatAge(1_795_000_000 - seconds, 1_795_000_000_000)).toBe(text);
});

describe("the page after signing in", () => {
  it.each([
    ["?next=%2Faudit%3Foutcome%3Dok", "/audit?outcome=ok"],
    ["", "/overview"],
    ["?next=https://evil.example", "/overview"],
    ["?next=//evil.example", "/overview"],
    [String.raw`?next=/\evil.example`, "/overview"],
    ["?next=javascript:alert(1)", "/overview"],
  ])("%s leads to %s", (query, path) => {
    expect(nextPath(new URLSearchParams(query))).toBe(path);
  });
});

test("details of an error: problems of fields first, then other facts", () => {
  const details = { issues: [{ path: "name", reason: "is missing" }], port: 30001, asset: "GW-1" };
  expect(formatDetails(details)).toEqual(["name: is missing", "port: 30001", "asset: GW-1"]);
  expect(formatDetails({ issues: "none" })).toEqual([]);
  expect(formatDetails(undefined)).toEqual([]);
});

test("details of an entry of the audit log: what says nothing is left out", () => {
  const details = { type: "", sims: [], supersim: null, limits: {}, count: 0, forced: false, name: "Pump 7" };
  expect(shownDetails(details)).toEqual([
    ["count", "0"],
    ["forced", "false"],
    ["name", "Pump 7"],
  ]);
});

test("a command line survives an apostrophe", () => {
  expect(toCurl("http://h", "POST", "/v1/x", { name: "it's" })).toBe(
    String.raw`curl -H "X-API-Key: $EDGE_API_KEY" -H 'Content-Type: application/json' -d '{"name":"it'\''s"}' 'http://h/v1/x'`,
  );
});

test("the filters of the audit log have every group of actions", () => {
  const groups = new Set(Object.keys(AUDIT_ACTIONS).map((action) => `${action.split(".")[0]}.`));
  expect(new Set(ACTION_GROUPS.map(({ value }) => value))).toEqual(groups);
});
