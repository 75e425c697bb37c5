import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { closestName, editDistance } from "../../../src/protocol/values/closest-name.ts";
import { appSpecSchema } from "../../../src/protocol/apps/app-spec.ts";

const FIELDS = Object.keys(appSpecSchema.shape);
const VOLUME = ["local", "target", "readonly"];
const PORT = ["host_port", "target_port", "protocol"];
const HEALTHCHECK = ["command", "interval_s", "timeout_s", "retries", "start_period_s"];

describe("the closest name", () => {
  it.each([
    ["environment", FIELDS, "environments"],
    ["env", FIELDS, "environments"],
    ["envVars", FIELDS, "environments"],
    ["enviroments", FIELDS, "environments"],
    ["volume", FIELDS, "volumes"],
    ["port", FIELDS, "ports"],
    ["cpu", FIELDS, "cpu_limit"],
    ["cpus", FIELDS, "cpu_limit"],
    ["mem_limit", FIELDS, "memory_limit"],
    ["memory", FIELDS, "memory_limit"],
    ["restart", FIELDS, "restart_policy"],
    ["restartPolicy", FIELDS, "restart_policy"],
    ["network_mode", FIELDS, "host_network"],
    ["hostNetwork", FIELDS, "host_network"],
    ["health_check", FIELDS, "healthcheck"],
    ["container_name", FIELDS, "name"],
    ["nmae", FIELDS, "name"],
    ["capAdd", FIELDS, "cap_add"],
    ["logging", FIELDS, "log"],
    ["stop_grace_period", FIELDS, "stop_grace_s"],
    ["workdir", FIELDS, "working_dir"],
    ["iamge", FIELDS, "image"],
    ["src", VOLUME, "local"],
    ["read_only", VOLUME, "readonly"],
    ["mountPath", VOLUME, "target"],
    ["hostPort", PORT, "host_port"],
    ["container_port", PORT, "target_port"],
    ["interval", HEALTHCHECK, "interval_s"],
    ["start_period", HEALTHCHECK, "start_period_s"],
    ["test", HEALTHCHECK, "command"],
    ["name", ["key", "value"], "key"],
  ])("of %s among %j is %s", (unknown, known, closest) => {
    expect(closestName(unknown, known)).toBe(closest);
  });

  it.each([
    ["colour", FIELDS],
    ["fleet", FIELDS],
    ["x", FIELDS],
    ["", FIELDS],
    ["-_.", FIELDS],
    ["constructor", FIELDS],
    ["__proto__", FIELDS],
    ["env", VOLUME],
    ["name", PORT],
    ["nam".repeat(100_000), FIELDS],
  ])("of %.20s among %j is none", (unknown, known) => {
    expect(closestName(unknown, known)).toBeUndefined();
  });

  it("is a known name, for whatever is unknown", () => {
    fc.assert(
      fc.property(fc.string(), (unknown) => {
        expect([undefined, ...FIELDS]).toContain(closestName(unknown, FIELDS));
      }),
    );
  });

  it("is the name itself with one letter missing, doubled, or swapped with the next", () => {
    const long = FIELDS.filter((name) => name.length > 6);
    fc.assert(
      fc.property(fc.constantFrom(...long), fc.nat(), fc.constantFrom("less", "more", "swap"), (name, at, kind) => {
        const index = at % (name.length - 1);
        const [a = "", b = ""] = [name[index], name[index + 1]];
        const letters = { less: "", more: a + a, swap: b + a }[kind];
        const typed = name.slice(0, index) + letters + name.slice(index + (kind === "swap" ? 2 : 1));
        expect(closestName(typed, FIELDS)).toBe(name);
      }),
    );
  });
});

describe("the edit distance", () => {
  it.each([
    ["", "", 0],
    ["", "abc", 3],
    ["image", "iamge", 1],
    ["image", "imge", 1],
    ["image", "imagee", 1],
    ["image", "imoge", 1],
    ["kitten", "sitting", 3],
  ])("of %j and %j is %i", (from, to, distance) => {
    expect(editDistance(from, to)).toBe(distance);
  });

  it("is the same in both directions, and 0 for equal texts only", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, b) === 0).toBe(a === b);
      }),
    );
  });
});
