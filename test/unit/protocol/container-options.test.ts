import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseAppSpec, parseNewAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import { canonicalOptions } from "../../../src/protocol/apps/canonical-options.ts";
import { CAPABILITIES } from "../../../src/protocol/apps/capabilities.ts";
import type { ContainerOptions } from "../../../src/protocol/apps/container-options.ts";
import { ULIMITS } from "../../../src/protocol/apps/container-options.ts";

function parse(fields: object) {
  return parseAppSpec({ name: "app", image: "example/app:1", ...fields });
}

function parsed(fields: object) {
  const result = parse(fields);
  if (!result.ok) throw result.error;
  return result.spec;
}

function refusal(fields: object): string {
  const result = parse(fields);
  return result.ok ? "accepted" : result.error.message;
}

const key = fc.stringMatching(/^[a-z][a-z0-9.-]{0,20}$/).filter((name) => !name.startsWith("io.edge-agent."));
const limit = fc.record({ name: fc.constantFrom(...ULIMITS), soft: fc.integer({ min: -1, max: 0 }) });

const options = fc.record(
  {
    entrypoint: fc.array(
      fc.string({ maxLength: 9 }).filter((text) => !text.includes("\0")),
      { minLength: 1, maxLength: 3 },
    ),
    user: fc.constantFrom("root", "1000", "1000:1000", "app:video", "2147483647"),
    working_dir: fc.constantFrom("/srv", "/srv//a/", "/./b"),
    cap_add: fc.array(fc.constantFrom(...CAPABILITIES, "cap_net_admin", "CAP_SYS_TIME", "sys_time"), { maxLength: 5 }),
    cap_drop: fc.array(fc.constantFrom(...CAPABILITIES), { maxLength: 5 }),
    read_only: fc.boolean(),
    tmpfs: fc.uniqueArray(
      fc.record(
        {
          target: fc.constantFrom("/run", "/tmp", "/var//x/"),
          size_bytes: fc.integer({ min: 4096, max: 2 ** 40 }),
          mode: fc.constantFrom("755", "0755", "1777"),
        },
        { requiredKeys: ["target"] },
      ),
      { selector: ({ target }) => target },
    ),
    shm_size: fc.integer({ min: 65_536, max: 2 ** 40 }),
    ulimits: fc.uniqueArray(limit, { selector: ({ name }) => name }),
    sysctls: fc.dictionary(
      fc.constantFrom("net.core.somaxconn", "kernel.msgmax", "fs.mqueue.msg_max"),
      fc.constant("1"),
    ),
    extra_hosts: fc.array(
      fc.record({
        name: fc.constantFrom("a", "plc.local"),
        address: fc.constantFrom("192.0.2.1", "::1", "host-gateway"),
      }),
      { maxLength: 3 },
    ),
    dns: fc.array(fc.constantFrom("192.0.2.1", "2001:db8::1"), { maxLength: 3 }),
    dns_search: fc.array(fc.constantFrom("plant.local", "a_b.c.", "."), { maxLength: 3 }),
    dns_options: fc.array(fc.constantFrom("ndots:1", "use-vc"), { maxLength: 3 }),
    hostname: fc.constantFrom("plc", "plc-1.local"),
    labels: fc.dictionary(
      key,
      fc.string({ maxLength: 20 }).filter((text) => !text.includes("\0")),
      { maxKeys: 4 },
    ),
    init: fc.boolean(),
    tty: fc.boolean(),
    stdin_open: fc.boolean(),
    device_cgroup_rules: fc.uniqueArray(fc.constantFrom("c 188:* rw", "b *:0 m", "a *:* rwm")),
    stop_signal: fc.constantFrom("SIGINT", "SIGRTMIN+3", "15"),
    stop_grace_s: fc.integer({ min: 0, max: 600 }),
    log: fc.record(
      { max_bytes: fc.integer({ min: 4096, max: 2 ** 30 }), max_files: fc.integer({ min: 1, max: 100 }) },
      { requiredKeys: ["max_bytes"] },
    ),
    gpus: fc.oneof(fc.constant("all"), fc.record({ ids: fc.constant(["0", "GPU-1"]) })),
    group_add: fc.uniqueArray(fc.constantFrom("20", "audio", "dialout"), { maxLength: 3 }),
    pids_limit: fc.integer({ min: 1, max: 4_194_304 }),
    security_opt: fc.subarray(["no-new-privileges", "seccomp=unconfined", "apparmor=unconfined", "label=disable"]),
  },
  { requiredKeys: [] },
);

describe("the options of a container", () => {
  test("have one form, which is accepted and stays as it is", () => {
    fc.assert(
      fc.property(options, (given) => {
        const once = canonicalOptions(parsed(given));
        const again: ContainerOptions = canonicalOptions(parsed(once));
        expect(JSON.stringify(again)).toBe(JSON.stringify(once));
      }),
    );
  });

  test("that mean the same have the same form", () => {
    const one = {
      cap_add: ["CAP_SYS_TIME", "net_admin"],
      sysctls: { "net.core.somaxconn": "1", "kernel.msgmax": "2" },
      labels: { b: "1", a: "2" },
      ulimits: [{ name: "nofile", soft: 5 }],
      tmpfs: [{ target: "/run/", mode: "755" }],
      init: false,
      log: { max_bytes: 4096 },
    };
    const other = {
      cap_add: ["NET_ADMIN", "SYS_TIME", "NET_ADMIN"],
      sysctls: { "kernel.msgmax": "2", "net.core.somaxconn": "1" },
      labels: { a: "2", b: "1" },
      ulimits: [{ name: "nofile", soft: 5, hard: 5 }],
      tmpfs: [{ target: "/run", mode: "0755" }],
      dns: [],
      log: { max_bytes: 4096, max_files: 3 },
    };
    expect(JSON.stringify(canonicalOptions(parsed(other)))).toBe(JSON.stringify(canonicalOptions(parsed(one))));
  });

  test.each([
    [{ entrypoint: [] }, "entrypoint: must not be empty"],
    [{ user: "a b" }, "user: must be USER or USER:GROUP"],
    [{ user: "root\n" }, "user: must be USER or USER:GROUP"],
    [{ user: "2147483648" }, "user: must not have a number above 2147483647"],
    [{ user: "0:4294967295" }, "user: must not have a number above 2147483647"],
    [{ working_dir: "srv" }, "working_dir: must be an absolute path"],
    [{ cap_add: ["NET_ADMINS"] }, "cap_add[0]: must be the name of a capability; did you mean NET_ADMIN?"],
    [{ cap_drop: [""] }, "cap_drop[0]: must be the name of a capability"],
    [{ tmpfs: [{ target: "/" }] }, "tmpfs[0].target: must not be /"],
    [{ tmpfs: [{ target: "/proc/sys" }] }, "tmpfs[0].target: must not be /"],
    [{ tmpfs: [{ target: "/a:ro" }] }, "tmpfs[0].target: must not contain ':'"],
    [{ tmpfs: [{ target: "/a" }, { target: "/a/" }] }, "tmpfs[1].target: the target appears twice"],
    [{ tmpfs: [{ target: "/a", mode: "4755" }] }, "tmpfs[0].mode: must be an octal mode"],
    [{ device_cgroup_rules: ["c 188:*"] }, "device_cgroup_rules[0]: must be a, b or c"],
    [{ device_cgroup_rules: ["c 188:* rr"] }, "device_cgroup_rules[0]: must be a, b or c"],
    [{ device_cgroup_rules: ["c 188:* rw\nc 1:1 r"] }, "device_cgroup_rules[0]: must be a, b or c"],
    [{ ulimits: [{ name: "nofile", soft: 2, hard: 1 }] }, "ulimits[0].soft: must not be above `hard`"],
    [{ ulimits: [{ name: "nofile", soft: -1, hard: 1 }] }, "ulimits[0].soft: must not be above `hard`"],
    [{ sysctls: { "kernel.core_pattern": "|/bin/sh" } }, "is not a kernel parameter of a container"],
    [{ sysctls: { "vm.overcommit_memory": "1" } }, "is not a kernel parameter of a container"],
    [{ sysctls: { "net/../kernel.core_pattern": "1" } }, "is not a kernel parameter of a container"],
    [{ sysctls: { "net..core": "1" } }, "is not a kernel parameter of a container"],
    [
      { extra_hosts: [{ name: "plc", address: "plc2" }] },
      "extra_hosts[0].address: must be an IP address or host-gateway",
    ],
    [{ extra_hosts: [{ name: "a\nb", address: "::1" }] }, "extra_hosts[0].name: must be a host name"],
    [{ dns: ["dns.local"] }, "dns[0]: must be an IP address"],
    [{ dns_search: ["a b"] }, "dns_search[0]: must be a domain, or . for none"],
    [{ dns_search: ["a\nnameserver 192.0.2.1"] }, "dns_search[0]: must be a domain"],
    [{ dns_search: [".."] }, "dns_search[0]: must be a domain"],
    [{ dns_search: Array.from({ length: 17 }, () => "a") }, "dns_search"],
    [{ dns_options: ["ndots:1 use-vc"] }, "dns_options[0]: must be an option of resolv.conf, such as ndots:1"],
    [{ dns_options: ["use-vc\nnameserver 192.0.2.1"] }, "dns_options[0]: must be an option of resolv.conf"],
    [{ hostname: "plc\n192.0.2.1 bank" }, "hostname: must be a host name"],
    [{ hostname: "-plc" }, "hostname: must be a host name"],
    [{ labels: { "io.edge-agent.app": "other" } }, "must not begin with io.edge-agent."],
    [{ labels: { "IO.edge-agent.app": "other" } }, "must not begin with io.edge-agent."],
    [{ labels: { "a=b": "c" } }, "must be of visible ASCII characters"],
    [
      { labels: Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`k${n}`, "x".repeat(1000)])) },
      "16384 characters in all",
    ],
    [{ pid: "container:other" }, "pid: must be host"],
    [{ ipc: "shareable" }, "ipc: must be host"],
    [{ memory_limit: 67_108_864, memory_swap_limit: 0 }, "memory_swap_limit: must not be 0"],
    [{ stop_signal: "TERM" }, "stop_signal: must be a signal"],
    [{ stop_signal: "65" }, "stop_signal: must be a signal"],
    [{ group_add: ["a", "a"] }, "group_add: a group appears twice"],
    [{ group_add: ["a b"] }, "group_add[0]: must be a group"],
    [{ pids_limit: 0 }, "pids_limit"],
    [{ security_opt: ["seccomp=/etc/profile.json"] }, "security_opt[0]: must be no-new-privileges"],
    [{ security_opt: ["apparmor=a", "apparmor=b"] }, "security_opt: an option appears twice"],
    [{ gpus: "some" }, 'gpus: must be "all"'],
    [{ gpus: { ids: [] } }, "gpus.ids: must not be empty"],
  ])("%j is refused", (fields, reason) => {
    expect(refusal(fields)).toContain(reason);
  });

  test("of a new app must not contradict each other", () => {
    const sysctls = { "kernel.shmmax": "1", "net.core.somaxconn": "1" };
    const parsedNew = parseNewAppSpec({ name: "a", image: "a:1", ipc: "host", shm_size: 65_536, sysctls });
    const paths = ["shm_size", "sysctls.kernel.shmmax"];
    expect(parsedNew).toMatchObject({ error: { details: { issues: paths.map((path) => ({ path })) } } });
    expect(parseNewAppSpec({ name: "a", image: "a:1", shm_size: 65_536, sysctls })).toMatchObject({ ok: true });
    for (const memory of [{}, { memory_limit: 67_108_864 }]) {
      expect(parseNewAppSpec({ name: "a", image: "a:1", ...memory, memory_swap_limit: 8_388_608 })).toMatchObject({
        error: { details: { issues: [{ path: "memory_swap_limit" }] } },
      });
    }
    for (const policy of [{}, { restart_policy: "always" }]) {
      expect(parseNewAppSpec({ name: "a", image: "a:1", ...policy, max_restarts: 3 })).toMatchObject({
        error: { details: { issues: [{ path: "max_restarts" }] } },
      });
    }
    const failing = { name: "a", image: "a:1", restart_policy: "on-failure", max_restarts: 3 };
    expect(parseNewAppSpec(failing)).toMatchObject({ ok: true });
    const healthcheck = { command: ["check"] };
    expect(parseNewAppSpec({ name: "a", image: "a:1", healthcheck, no_healthcheck: true })).toMatchObject({
      error: { details: { issues: [{ path: "no_healthcheck" }] } },
    });
  });

  test("must not contradict the app's other fields", () => {
    const volumes = [{ local: "/data", target: "/data/" }];
    expect(refusal({ volumes, tmpfs: [{ target: "/data" }] })).toContain(
      "tmpfs[0].target: is where a volume is mounted: /data",
    );
    expect(refusal({ volumes, tmpfs: [{ target: "/data/tmp" }] })).toBe("accepted");
    expect(refusal({ volumes, tmpfs: [{ target: "/database" }] })).toBe("accepted");
    const sysctls = { "net.core.somaxconn": "1" };
    expect(refusal({ sysctls, host_network: true })).toContain("`host_network`");
    expect(refusal({ sysctls })).toBe("accepted");
    expect(refusal({ sysctls: { "kernel.msgmax": "1" }, host_network: true })).toBe("accepted");
  });
});
