import { expect, test } from "vitest";
import { boundedCapabilities, fitNamespaces, fitProcess, hardLimits } from "../../support/runtime/fit-process.ts";

test("capabilities are read from the bounding set", () => {
  const without = boundedCapabilities("Name:\tx\nCapBnd:\t000001fffeffffff\n");
  expect(without.size).toBe(40);
  expect(without).not.toContain("CAP_SYS_RESOURCE");
  expect(boundedCapabilities("CapBnd:\t0000000001000001\n")).toEqual(new Set(["CAP_CHOWN", "CAP_SYS_RESOURCE"]));
});

test("what the machine cannot give is taken out", () => {
  const process = {
    capabilities: { bounding: ["CAP_CHOWN", "CAP_SYS_RESOURCE"], ambient: [] },
    rlimits: [{ type: "RLIMIT_NOFILE", hard: 1, soft: 1 }],
  };
  fitProcess(process, new Set(["CAP_CHOWN"]));
  expect(process).toEqual({ capabilities: { bounding: ["CAP_CHOWN"], ambient: [] }, rlimits: [] });
});

test("limits within the machine's own are kept, as they need no right", () => {
  const limits = hardLimits(
    "Max open files            1024                 20000                files     \nMax msgqueue size 1 2\n",
  );
  expect(limits).toEqual(new Map([["RLIMIT_NOFILE", 20_000]]));
  const kept = { type: "RLIMIT_NOFILE", hard: 512, soft: 256 };
  const above = { type: "RLIMIT_NOFILE", hard: 20_001, soft: 256 };
  const process = { rlimits: [kept, above, { type: "RLIMIT_NPROC", hard: 1, soft: 1 }] };
  fitProcess(process, new Set(), limits);
  expect(process.rlimits).toEqual([kept]);
});

test("on a machine that can give everything nothing changes", () => {
  const rlimits = [{ type: "RLIMIT_NOFILE", hard: 1, soft: 1 }];
  const process = { capabilities: { effective: ["CAP_SYS_RESOURCE"] }, rlimits };
  fitProcess(process, new Set(["CAP_SYS_RESOURCE"]));
  expect(process).toEqual({ capabilities: { effective: ["CAP_SYS_RESOURCE"] }, rlimits });
});

test("a namespace of its own for the time is taken out where runc does not know that", () => {
  const linux = { namespaces: [{ type: "pid" }, { type: "time" }] };
  fitNamespaces(linux, () => new Set(["pid", "time"]));
  expect(linux.namespaces.length).toBe(2);
  fitNamespaces(linux, () => new Set(["pid"]));
  expect(linux).toEqual({ namespaces: [{ type: "pid" }] });
});
