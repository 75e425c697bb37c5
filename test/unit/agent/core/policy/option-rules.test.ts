import { describe, expect, test } from "vitest";
import { configSchema } from "../../../../../src/agent/config/schema.ts";
import { findOptionViolation } from "../../../../../src/agent/core/policy/option-rules.ts";
import type { Policy } from "../../../../../src/agent/core/policy/policy.ts";
import { parseAppSpec } from "../../../../../src/protocol/apps/app-spec.ts";
import { UNUSUAL_CAPABILITIES, USUAL_CAPABILITIES } from "../../../../../src/protocol/apps/capabilities.ts";

/** A policy as the configuration file gives it. */
function policyOf(policy: object = {}): Policy {
  return configSchema.parse({ control_plane_url: "wss://control.example.com/", device_token: "t", policy }).policy;
}

function violation(fields: object, policy: object = {}) {
  const parsed = parseAppSpec({ name: "app", image: "example/app:1", ...fields });
  if (!parsed.ok) throw parsed.error;
  return findOptionViolation(parsed.spec, policyOf(policy));
}

test.each([
  [[], false],
  [["shop"], false],
  [["shop_db2", "shop.db"], false],
  [["shop_db"], true],
  [["shop_*"], true],
  [["*"], true],
])(
  "with %j in external_volumes.allow, the engine's volume shop_db is allowed, and likewise its network: %j",
  (allow, isAllowed) => {
    const volumes = [{ external: "shop_db", target: "/data" }];
    const denied = violation({ volumes, privileged: true }, { external_volumes: { allow } });
    expect(denied?.rule).toBe(isAllowed ? undefined : "policy.external_volumes.allow");
    const networks = { networks: ["shop_db"], external_networks: ["shop_db"] };
    const off = violation({ ...networks, privileged: true }, { external_networks: { allow } });
    expect(off?.rule).toBe(isAllowed ? undefined : "policy.external_networks.allow");
  },
);

describe("the policy on the options of a container", () => {
  test("allows by default what engines give to every container, and what takes rights away", () => {
    expect(UNUSUAL_CAPABILITIES).toHaveLength(27);
    const all = {
      entrypoint: ["/bin/app"],
      user: "0",
      cap_add: USUAL_CAPABILITIES,
      cap_drop: ["ALL"],
      read_only: true,
      tmpfs: [{ target: "/run" }],
      ulimits: [{ name: "nofile", soft: 1_000_000 }],
      sysctls: { "net.core.somaxconn": "1024", "kernel.shmmax": "1", "fs.mqueue.msg_max": "1" },
      log: { max_bytes: 10_485_760, max_files: 10 },
      gpus: "all",
      group_add: ["20"],
      pids_limit: 100,
      security_opt: ["no-new-privileges"],
    };
    expect(violation(all)).toBeUndefined();
  });

  test.each(UNUSUAL_CAPABILITIES)(
    "denies the capability %s unless it is listed, also where apps may be privileged",
    (name) => {
      const denied = violation({ cap_add: [name.toLowerCase()], privileged: true }, { privileged: true });
      expect(denied).toMatchObject({
        rule: "policy.capabilities.allow",
        message: expect.stringContaining(name) as string,
      });
      expect(denied?.message).toContain("`policy.privileged` does not include it");
      expect(violation({ cap_add: [name] }, { capabilities: { allow: [`CAP_${name}`] } })).toBeUndefined();
    },
  );

  test.each(["seccomp=unconfined", "apparmor=unconfined", "label=disable"])(
    "denies the security option %s unless it is listed, also where apps may be privileged",
    (option) => {
      const fields = { security_opt: ["no-new-privileges", option] };
      expect(violation(fields, { privileged: true })).toMatchObject({
        rule: "policy.security_opt.allow",
        message: expect.stringContaining(option) as string,
      });
      expect(violation(fields, { security_opt: { allow: [option] } })).toBeUndefined();
    },
  );

  test.each([
    ["policy.host_pid", { pid: "host" }, { host_pid: true }],
    ["policy.host_ipc", { ipc: "host" }, { host_ipc: true }],
  ] as const)("denies what %s names unless it is set, also where apps may be privileged", (rule, fields, allowed) => {
    expect(violation(fields, { privileged: true })).toMatchObject({
      rule,
      message: expect.stringContaining("does not include it") as string,
    });
    expect(violation(fields, allowed)).toBeUndefined();
  });

  test("denies every capability at once unless ALL is listed, which allows each", () => {
    const listed = { capabilities: { allow: UNUSUAL_CAPABILITIES } };
    expect(violation({ cap_add: ["ALL"] }, listed)?.message).toContain("every capability");
    expect(violation({ cap_add: ["ALL", "SYS_ADMIN"] }, { capabilities: { allow: ["ALL"] } })).toBeUndefined();
  });

  test.each(["memlock", "nice", "rtprio", "rttime"])("denies the limit %s unless it is listed", (name) => {
    const ulimits = [{ name, soft: 1 }];
    expect(violation({ ulimits })?.rule).toBe("policy.ulimits.allow");
    expect(violation({ ulimits }, { ulimits: { allow: [name] } })).toBeUndefined();
    expect(violation({ ulimits: [{ name: "nofile", soft: 1 }] }, { ulimits: { allow: [] } })?.rule).toBe(
      "policy.ulimits.allow",
    );
  });

  test("denies kernel parameters outside the listed prefixes", () => {
    const sysctls = { "net.ipv4.ip_forward": "1" };
    expect(violation({ sysctls }, { sysctls: { allow: ["net.ipv4."] } })).toBeUndefined();
    expect(violation({ sysctls }, { sysctls: { allow: ["net.core."] } })).toMatchObject({
      rule: "policy.sysctls.allow",
      message: expect.stringContaining("net.ipv4.ip_forward") as string,
    });
    expect(violation({ sysctls }, { sysctls: { allow: [] } })?.rule).toBe("policy.sysctls.allow");
  });

  test("bounds all files of a log together", () => {
    expect(violation({ log: { max_bytes: 52_428_800, max_files: 2 } })).toBeUndefined();
    const above = { log: { max_bytes: 52_428_801, max_files: 2 } };
    expect(violation(above)).toMatchObject({ rule: "policy.max_log_bytes" });
    expect(violation(above, { max_log_bytes: 200_000_000 })).toBeUndefined();
  });

  test("treats rules for device files by number as device files, unless it lists them", () => {
    const fields = { device_cgroup_rules: ["c 188:* wr"] };
    expect(violation(fields)).toBeUndefined();
    const rule = "policy.device_cgroup_rules.allow";
    expect(violation(fields, { privileged: false })?.rule).toBe(rule);
    expect(violation(fields, { devices: { allow: ["/dev/ttyUSB0"] } })?.rule).toBe(rule);
    expect(violation(fields, { devices: {} })?.rule).toBe(rule);
    expect(violation(fields, { device_cgroup_rules: { allow: ["c 188:* r"] } })?.rule).toBe(rule);
    const listed = { privileged: false, devices: {}, device_cgroup_rules: { allow: ["c 188:* rw"] } };
    expect(violation(fields, listed)).toBeUndefined();
  });

  test("treats GPUs as device files unless it says otherwise", () => {
    const gpus = { ids: ["0"] };
    expect(violation({ gpus }, { privileged: false })?.rule).toBe("policy.gpus");
    expect(violation({ gpus }, { devices: { allow: ["/dev/ttyUSB0"] } })?.rule).toBe("policy.gpus");
    expect(violation({ gpus }, { gpus: false })?.rule).toBe("policy.gpus");
    expect(violation({ gpus }, { privileged: false, devices: {}, gpus: true })).toBeUndefined();
  });
});
