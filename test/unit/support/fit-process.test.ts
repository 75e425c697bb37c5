import { expect, test } from "vitest";
import { boundedCapabilities, fitNamespaces, fitProcess } from "../../support/runtime/fit-process.ts";

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
