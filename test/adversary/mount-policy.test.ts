import { chmod, chown, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { parseImageReference } from "../../src/protocol/apps/image-reference.ts";
import { run } from "../support/command.ts";
import { freeHostPort } from "../support/free-port.ts";
import { sleeperImage } from "../support/images.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../support/private-engine.ts";
import type { AgentConfig } from "../support/system/agent.ts";
import type { AppRequest } from "../support/system.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

const missing = await privateEngineUnavailableReason();
const unless = missing === undefined ? "" : ` (${missing})`;

/** Owner of directories that an agent without capabilities must not read. */
const OTHER_USER = 65_534;

/** Drops root's capabilities to read every file, which the agent's user does not have. The engine keeps them. */
const WITHOUT_CAPABILITIES = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all"];

describe.skipIf(missing !== undefined)(`paths that the agent must not read${unless}`, () => {
  const system = sharedSystem(() => ({ agentWrapper: WITHOUT_CAPABILITIES }));
  let data: string;
  beforeEach(async () => {
    data = join(system().directory, system().name("data"));
    await mkdir(data);
  });

  const mount = async (local: string) => {
    const image = await system().load(await sleeperImage());
    return (await system().deploy({ name: system().name(), image, volumes: [{ local, target: "/seen" }] })).final;
  };

  test("a link in a directory of mode 0700 is refused with the reason, not taken for absent", async () => {
    await system().agent.restart({ policy: { mounts: { allow: [data], deny: [] } } });
    const closed = join(data, "closed");
    await mkdir(closed);
    await symlink("/", join(closed, "link"));
    await chown(closed, OTHER_USER, OTHER_USER);
    await chmod(closed, 0o700);
    const refused = await mount(join(closed, "link"));
    expect(refused).toMatchObject({ status: "Fail", code: "PolicyDenied", details: { rule: "policy.mounts" } });
    expect(refused.message).toContain(`${join(closed, "link")} could not be examined (no permission`);
    // The directory itself is visible, and the engine creates missing paths.
    expect(await mount(closed)).toMatchObject({ status: "Success" });
    expect(await mount(join(data, "new", "directory"))).toMatchObject({ status: "Success" });
  });

  test("a loop of links and a path through a file are refused", async () => {
    await system().agent.restart({ policy: { mounts: { allow: [data], deny: [] } } });
    await symlink("loop", join(data, "loop"));
    await writeFile(join(data, "file"), "");
    expect((await mount(join(data, "loop"))).message).toContain("too many symbolic links");
    expect((await mount(join(data, "file", "below"))).message).toContain("a part of the path is no directory");
  });

  test("a dangling link is resolved to its target", async () => {
    await system().agent.restart({ policy: { mounts: { allow: [data], deny: [] } } });
    await symlink("/not-there-yet/by-far", join(data, "later"));
    expect(await mount(join(data, "later"))).toMatchObject({ details: { rule: "policy.mounts.allow" } });
  });

  test("without restrictions in the policy paths are not examined", async () => {
    await system().agent.restart({});
    const closed = join(data, "closed");
    await mkdir(join(closed, "inner"), { recursive: true });
    await chown(closed, OTHER_USER, OTHER_USER);
    await chmod(closed, 0o700);
    expect(await mount(join(closed, "inner"))).toMatchObject({ status: "Success" });
  });
});

describe.skipIf(missing !== undefined)(`guarded paths, by any name${unless}`, () => {
  let engine: PrivateEngine;
  const system = sharedSystem(async (owned) => {
    engine = owned.use(await PrivateEngine.start());
    return { engine };
  });

  /** Returns the rule that denies an app the mount. Nothing is pulled, since the check comes first. */
  async function rule(local: string, readonly: boolean = false): Promise<unknown> {
    const volumes = [{ local, target: "/seen", readonly }];
    const { final } = await system().deploy({ name: system().name(), image: "127.0.0.1:1/none:1", volumes });
    expect(final.status).toBe("Fail");
    return final.code === "PolicyDenied" ? final.details?.["rule"] : final.code;
  }
  const denied = "policy.mounts.deny";
  const guarded = "policy.mounts.allow";

  /** Requests that pass the check fail at once at an unreachable registry. */
  const restart = (config: AgentConfig): Promise<void> =>
    system().agent.restart({ deploy: { pull_attempts: 1 }, ...config });

  test("an entry of deny that is a link denies its target", async () => {
    const directory = join(system().directory, system().name("deny"));
    await mkdir(join(directory, "real", "inner"), { recursive: true });
    await mkdir(join(directory, "elsewhere"));
    await symlink("elsewhere/turn", join(directory, "link"));
    await symlink("../real", join(directory, "elsewhere", "turn"));
    await restart({
      policy: { mounts: { allow: [], deny: [join(directory, "link"), "/var/run", "/bin"] } },
    });
    expect(await rule(join(directory, "real"))).toBe(denied);
    expect(await rule(join(directory, "real", "inner"))).toBe(denied);
    expect(await rule("/run/foo")).toBe(denied);
    expect(await rule("/usr/bin")).toBe(denied);
    // An app that may write there could redirect the link.
    expect(await rule(join(directory, "elsewhere"))).toBe(denied);
    expect(await rule(join(directory, "elsewhere", "other"))).not.toBe(denied);
  });

  test("a link under an allowed path does not allow its target", async () => {
    const directory = join(system().directory, system().name("allow"));
    await mkdir(join(directory, "real"), { recursive: true });
    await symlink("real", join(directory, "link"));
    await restart({ policy: { mounts: { allow: [join(directory, "link")], deny: [] } } });
    expect(await rule(join(directory, "link"))).toBe("policy.mounts.allow");
  });

  const files = () => join(system().directory, "files");
  const withFiles = (more: AgentConfig = {}): AgentConfig => ({
    docker_config_file: join(files(), "docker.json"),
    extra_ca_file: join(files(), "ca.pem"),
    local: { socket: join(files(), "agent.sock") },
    registries: [
      { host: "r.example", username: "u", password_file: join(files(), "password"), ca_file: join(files(), "rca.pem") },
    ],
    ...more,
  });

  beforeEach(async () => {
    await mkdir(join(files(), "state"), { recursive: true });
    for (const name of ["docker.json", "password"]) await writeFile(join(files(), name), "{}");
    const { stdout } = await run("sh", ["-c", "cat /etc/ssl/certs/*.pem | head -60"]);
    const text = stdout.includes("-----BEGIN CERTIFICATE-----")
      ? stdout
      : "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n";
    for (const name of ["ca.pem", "rca.pem"]) await writeFile(join(files(), name), text);
  });

  const ALWAYS = [
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/containerd",
    "/run/containerd/containerd.sock",
    "/run/docker",
    "/run/podman/podman.sock",
    "/run/crio/crio.sock",
    "/run/buildkit/buildkitd.sock",
    "/run/k3s/containerd",
    "/run",
    "/etc/edge-agent",
    "/etc/edge-agent/anything",
    "/etc",
    "/run/edge-agent",
    "/",
  ];

  test("engine sockets and the agent's identity and credentials are always guarded", async () => {
    await restart(withFiles());
    const own = ["docker.json", "password", "agent.sock", "agent-read.sock"].map((name) => join(files(), name));
    const { configFile, stateDir } = system().agent;
    for (const path of [
      ...ALWAYS,
      ...own,
      files(),
      configFile,
      stateDir,
      join(stateDir, "agent.db"),
      system().engineSocket,
    ]) {
      expect([path, await rule(path)]).toEqual([path, guarded]);
    }
    for (const name of ["ca.pem", "rca.pem"]) {
      expect(await rule(join(files(), name))).toBe(guarded);
      expect(await rule(join(files(), name), true)).not.toBe(guarded);
    }
  });

  test("paths that grant root are guarded too if mounts are restricted", async () => {
    const more = [
      "/var/lib/docker",
      "/var/lib/containers/storage",
      "/var/lib/containerd",
      engine.dataRoot,
      "/proc",
      "/proc/1/root",
    ];
    const all = [
      ...more,
      "/sys",
      "/dev",
      "/dev/shm",
      "/run/systemd/private",
      "/run/dbus/system_bus_socket",
      "/run/user/1000",
    ];
    await restart({ policy: { mounts: { allow: [], deny: ["/nowhere"] } } });
    for (const path of all) expect([path, await rule(path)]).toEqual([path, guarded]);
    await restart({});
    for (const path of all) expect([path, await rule(path)]).not.toEqual([path, guarded]);
  });

  test("guarded paths that the policy allows exactly are allowed", async () => {
    const allow = ["/", "/run/dbus", "/run/containerd/containerd.sock"];
    await restart({ policy: { mounts: { allow, deny: [] } } });
    expect(await rule("/run/dbus/system_bus_socket")).not.toBe(guarded);
    expect(await rule("/run/containerd/containerd.sock")).not.toBe(guarded);
    expect(await rule("/run/containerd")).toBe(guarded);
  });

  test("the target of a state directory that is a link is guarded too", async () => {
    const link = join(files(), "state-link");
    await symlink("state", link);
    await restart({ state_dir: link });
    expect(await rule(join(files(), "state"))).toBe(guarded);
    expect(await rule(link)).toBe(guarded);
  });
});

describe.skipIf(missing !== undefined)(`the recommended policy${unless}`, () => {
  const system = sharedSystem();

  test("allows the first example of the README and refuses privileged requests", async () => {
    const { policy } = (await jsonAfter("docs/configuration.md", "<!-- recommended policy -->")) as {
      policy: AgentConfig["policy"];
    };
    const readme = await readFile("README.md", "utf8");
    const body = /edge\/apps" .* -d '(\{[\s\S]*?\})'/.exec(readme)?.[1];
    const example = JSON.parse(body ?? "") as AppRequest;
    await system().agent.restart({ policy: { ...policy, registries: { allow: [] } } });
    // Replaces an image that is not available here; the policy allows its registry.
    expect(policy?.registries?.allow).toContain(parseImageReference(example.image)?.registry);
    const image = await system().load(await sleeperImage());
    const name = system().name("node-red");
    const ports = [{ host_port: await freeHostPort(), target_port: 1880 }];
    const { final, deploymentId } = await system().deploy({ ...example, name, image, ports });
    expect(final.status).toBe("Success");
    const isUp = async (): Promise<boolean> => (await system().inspect(deploymentId)).State.Status === "running";
    await waitFor("the app", isUp);
    await system().finish(await system().change("DELETE", name));
    const refusal = async (more: object) =>
      (await system().deploy({ name: system().name(), image, ...more })).final.details?.["rule"];
    expect(await refusal({ privileged: true })).toBe("policy.privileged");
    expect(await refusal({ host_network: true })).toBe("policy.host_network");
    expect(await refusal({ volumes: [{ local: "/etc", target: "/e" }] })).toMatch(/^policy\.mounts/);
    expect(await refusal({ volumes: [{ local: "/var/lib/docker", target: "/e" }] })).toMatch(/^policy\.mounts/);
    expect(await refusal({ volumes: [{ local: "/var/lib/edge-agent", target: "/e" }] })).toMatch(/^policy\.mounts/);
    expect(await refusal({ devices: [{ local: "/dev/null" }] })).toBe("policy.devices");
  });
});

/** Returns the JSON block that follows a marker in a page. */
async function jsonAfter(page: string, mark: string): Promise<unknown> {
  const text = await readFile(page, "utf8");
  const block = /```json\n([\s\S]*?)```/.exec(text.slice(text.indexOf(mark) + mark.length))?.[1];
  return JSON.parse(block ?? "") as unknown;
}
