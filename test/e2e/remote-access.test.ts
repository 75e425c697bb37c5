import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RemoteUser, remoteUser } from "../support/edgectl/remote-user.ts";
import { webImage, WEB_PORT } from "../support/images.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

const ALLOWED = { policy: { remote_access: "exec" } } as const;

const system = sharedSystem(() => ({ agentConfig: ALLOWED }));
const owned = new AsyncDisposableStack();
let user: RemoteUser;
let app = "";

beforeAll(async () => {
  user = owned.use(await remoteUser(system(), ["apps.forward", "apps.exec"]));
  app = system().name("web");
  const { final } = await system().deploy({ name: app, image: await system().load(await webImage()) });
  expect(final.status).toBe("Success");
});
afterAll(() => owned.disposeAsync());

const exec = (...command: string[]) => user.run(["exec", system().asset.serialNumber, app, "--", ...command]);
const processes = async () => (await exec("busybox", "ps")).stdout;
/** Starts a script in the app by `edgectl exec`. */
const startScript = (script: string, by = user) =>
  by.start(["exec", system().asset.serialNumber, app, "--", "sh", "-c", script]);

describe("forward", () => {
  test("opens a port of an app that publishes none, for many connections", async () => {
    const { url, command } = await user.forward(app, WEB_PORT);
    await using _command = command;
    const pages = await Promise.all(Array.from({ length: 12 }, async () => (await fetch(url)).text()));
    expect(pages.every((page) => page.includes("edge-agent test app"))).toBe(true);
    command.kill("SIGINT");
    expect(await command.exited).toBe(0);
    const cost = JSON.parse(command.stdout().trim().split("\n").at(-1) ?? "") as { received: number };
    expect(cost.received).toBeGreaterThan(12 * 20);
  });

  test("a browser's session at a console on loopback does not reach the app", async () => {
    await using server = startScript("echo on; while :; do busybox nc -l -p 9077 >> /tmp/request; done");
    await server.waitForOutput("on");
    const { url, command } = await user.forward(app, 9077);
    await using _command = command;
    // Cookies belong to a host, with any port.
    expect(new URL(url).hostname).not.toBe(new URL(system().control.url).hostname);
    const request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: a=1; edge_session=planted; b=2\r\n\r\n";
    // Sent until the app has it: between two connections it does not listen.
    const arrived = await waitFor("the request", async () => {
      const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1" });
      socket.on("error", () => undefined);
      socket.end(request);
      const { stdout } = await exec("busybox", "cat", "/tmp/request");
      socket.destroy();
      return stdout.includes("b=2") && stdout;
    });
    expect(arrived).toContain("Cookie: a=1; edge_session=xxxxxxx; b=2");
  });

  test("passes on what is sent after the other side has ended", async () => {
    const { url, command } = await user.forward(app, WEB_PORT);
    await using _command = command;
    const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1", allowHalfOpen: true });
    socket.end("GET / HTTP/1.0\r\n\r\n");
    let text = "";
    for await (const bytes of socket as AsyncIterable<Buffer>) text += bytes.toString();
    expect(text).toContain("edge-agent test app");
  });

  test("of a port that nobody listens on is refused at once", async () => {
    const { code, stderr } = await user.run(["forward", system().asset.serialNumber, app, "1999"]);
    expect(stderr).toContain("Nothing listens on port 1999");
    expect(stderr).toContain("(AppPortClosed)");
    expect(code).toBe(1);
  });

  test("of an app that does not exist is refused", async () => {
    const { code, stderr } = await user.run(["forward", system().asset.serialNumber, "nobody", "80"]);
    expect(stderr).toContain("(AppNotFound)");
    expect(code).toBe(4);
  });
});

describe("exec", () => {
  test("passes input, both outputs and the exit code", async () => {
    const script = "read line; echo got $line; echo bad >&2; exit 7";
    const args = ["exec", system().asset.serialNumber, app, "--", "sh", "-c", script];
    const { code, stdout, stderr } = await user.run(args, "the input\n");
    expect({ code, stdout, stderr }).toEqual({ code: 7, stdout: "got the input\n", stderr: "bad\n" });
  });

  test("brings all of a large output, in order", async () => {
    const { code, stdout } = await exec("sh", "-c", "i=0; while [ $i -lt 60000 ]; do echo line $i; i=$((i+1)); done");
    expect(code).toBe(0);
    expect(stdout).toBe(Array.from({ length: 60_000 }, (_, i) => `line ${i}\n`).join(""));
  });

  test("takes a large input", async () => {
    const input = "x".repeat(3_000_000);
    const { stdout } = await user.run(["exec", system().asset.serialNumber, app, "--", "busybox", "wc", "-c"], input);
    expect(stdout.trim()).toBe("3000000");
  });

  test("a command that never ends is killed with edgectl, and all it has started", async () => {
    const marker = `sleep 98765`;
    const command = startScript(`${marker} & echo on; wait`);
    await using _command = command;
    await command.waitForOutput("on");
    expect((await exec("busybox", "ps")).stdout).toContain(marker);
    command.kill("SIGKILL");
    await waitFor("the command to be gone", async () => !(await exec("busybox", "ps")).stdout.includes(marker));
  });

  test("a command that floods ends with its client, and the device goes on", async () => {
    const command = user.start(["exec", system().asset.serialNumber, app, "--", "busybox", "yes"]);
    await using _command = command;
    await command.waitUntil("some output", () => command.stdout().length > 1_000_000);
    command.kill("SIGKILL");
    await waitFor("the command to be gone", async () => !/ yes$/m.test((await exec("busybox", "ps")).stdout));
  });

  test("a terminal has the size and the exit code", async () => {
    const args = [
      "exec",
      system().asset.serialNumber,
      app,
      "-t",
      "--",
      "sh",
      "-c",
      "test -t 0 && echo terminal; exit 3",
    ];
    const { code, stdout } = await user.run(args);
    expect(stdout).toContain("terminal");
    expect(code).toBe(3);
  });
});

describe("cp", () => {
  test("copies a file there and back, with its mode", async () => {
    const [from, back] = [join(system().directory, "there.bin"), join(system().directory, "back.bin")];
    const content = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 256));
    await writeFile(from, content, { mode: 0o750 });
    const asset = system().asset.serialNumber;
    const there = await user.run(["cp", asset, from, `${app}:/tmp/new name.bin`]);
    expect(there.stderr).toBe("");
    expect((await exec("busybox", "stat", "-c", "%a %u", "/tmp/new name.bin")).stdout).toBe("750 0\n");
    expect((await user.run(["cp", asset, `${app}:/tmp/new name.bin`, back])).code).toBe(0);
    expect((await readFile(back)).equals(content)).toBe(true);
    const printed = await user.run(["cp", asset, `${app}:/www/index.html`, "-"]);
    expect(printed.stdout).toContain("edge-agent test app");
  });

  test("copies a directory into one, and leaves out links on the way back", async () => {
    const asset = system().asset.serialNumber;
    const tree = join(system().directory, "tree");
    await mkdir(join(tree, "sub/empty"), { recursive: true });
    await writeFile(join(tree, "sub/file"), "in the tree");
    await symlink("/etc/passwd", join(tree, "link"));
    expect((await user.run(["cp", asset, tree, `${app}:/tmp`])).code).toBe(0);
    expect((await exec("cat", "/tmp/tree/sub/file")).stdout).toBe("in the tree");
    const back = join(system().directory, "copy");
    const { code, stderr } = await user.run(["cp", asset, `${app}:/tmp/tree`, back]);
    expect(stderr).toContain("1 links, devices or sockets were not copied");
    expect(code).toBe(0);
    expect(await readFile(join(back, "sub/file"), "utf8")).toBe("in the tree");
  });

  test("names a path that is not there", async () => {
    const { code, stderr } = await user.run(["cp", system().asset.serialNumber, `${app}:/no/such`, "-"]);
    expect(stderr).toContain("(AppPathNotFound)");
    expect(code).toBe(4);
  });
});

describe("who may", () => {
  test("a key without the permission may not", async () => {
    await using plain = await remoteUser(system(), []);
    const { code, stderr } = await plain.run(["exec", system().asset.serialNumber, app, "--", "true"]);
    expect(stderr).toContain("(Forbidden)");
    expect(code).toBe(3);
    await using forwarder = await remoteUser(system(), ["apps.forward"]);
    const refused = await forwarder.run(["exec", system().asset.serialNumber, app, "--", "true"]);
    expect(refused.stderr).toContain("apps.exec");
    expect(refused.code).toBe(3);
  });

  test("a revoked key ends what is open", async () => {
    await using other = await remoteUser(system(), ["apps.exec"]);
    // The second hides from its environment and its session, the third from its parent too.
    const script = [
      "busybox env -i busybox setsid busybox sleep 4322 &",
      "(busybox env -i busybox setsid busybox sleep 4323 &)",
      "echo on; sleep 4321",
    ].join("\n");
    await using command = startScript(script, other);
    await command.waitForOutput("on");
    await waitFor("the processes", async () => (await processes()).includes("sleep 4323"));
    await system().control.administer("key", "revoke", other.keyId);
    expect(await command.exited).not.toBe(0);
    await waitFor("the command to be gone", async () => !/sleep 432[12]/.test(await processes()));
    const named = /remote access: processes that began while a command ran go on in the app/;
    await waitFor("the log to name what goes on", () => named.test(system().agent.output()));
  });

  test("what a command leaves behind ends with it", async () => {
    expect((await exec("sh", "-c", "(busybox setsid busybox sleep 4324 > /dev/null 2>&1 &)")).code).toBe(0);
    await waitFor("it to be gone", async () => !(await exec("busybox", "ps")).stdout.includes("sleep 4324"));
  });

  test("everything is in the audit log, the device's log and its ledger", async () => {
    const entries = (await system().control.administer(
      "audit",
      "list",
      "--account",
      system().account.accountId,
    )) as unknown as { action: string; details: Record<string, unknown>; key_id: string; app: string }[];
    const own = entries.filter((entry) => entry.key_id === user.keyId && entry.app === app);
    expect(own).toContainEqual(
      expect.objectContaining({ action: "remote_access.opened", details: { kind: "forward", port: WEB_PORT } }),
    );
    expect(own).toContainEqual(
      expect.objectContaining({
        action: "remote_access.closed",
        details: expect.objectContaining({ kind: "forward", port: WEB_PORT, streams: 13 }),
      }),
    );
    expect(JSON.stringify(entries)).not.toContain("98765");
    const log = system().agent.log();
    const opened = log.filter(({ msg }) => msg === "remote access: stream opened");
    expect(opened).toContainEqual(expect.objectContaining({ kind: "exec", app, by: user.keyId }));
    expect(JSON.stringify(log)).not.toContain("98765");
    const usage = await user.run(["--json", "data-usage", system().asset.serialNumber]);
    expect(usage.stdout).toMatch(/"remote_access": \{\s*"sent_bytes": \d{6,},\s*"received_bytes": \d{6,}/);
  });

  test("the device's policy has the last word, also in mid-session and without a restart", async () => {
    const config = JSON.parse(await readFile(system().agent.configFile, "utf8")) as Record<string, unknown>;
    const allow = async (remote_access: string): Promise<void> => {
      await writeFile(system().agent.configFile, JSON.stringify({ ...config, policy: { remote_access } }));
      const before = system().agent.log().length;
      system().agent.signal("SIGHUP");
      await waitFor("the reload", () =>
        system()
          .agent.log()
          .slice(before)
          .some(({ msg }) => msg === "the configuration was read again"),
      );
    };
    await using command = startScript("echo on; sleep 8642");
    await command.waitForOutput("on");
    const { url, command: forward } = await user.forward(app, WEB_PORT);
    await using _forward = forward;
    await allow("forward");
    expect(await command.exited).toBe(1);
    expect(command.stderr()).toContain("(PolicyDenied)");
    expect(await (await fetch(url)).text()).toContain("edge-agent test app");
    await allow("off");
    await expect(fetch(url)).rejects.toThrow();
    const { stderr } = await user.run(["forward", system().asset.serialNumber, app, String(WEB_PORT)]);
    expect(stderr).toContain("policy.remote_access is off");
    await allow("exec");
    await waitFor("the command to be gone", async () => !(await exec("busybox", "ps")).stdout.includes("sleep 8642"));
  });

  test("a cut link ends streams, and new ones open once the device is back", async () => {
    const { url, command } = await user.forward(app, WEB_PORT);
    await using _command = command;
    expect((await fetch(url)).status).toBe(200);
    await using running = startScript("echo on; sleep 7531");
    await running.waitForOutput("on");
    const sessions = system().countSessions();
    system().link.cut();
    expect(await running.exited).toBe(1);
    expect(running.stderr()).toContain("(DeviceNotReachable)");
    await waitFor("the device to be back", () => system().countSessions() > sessions);
    await waitFor("the page", async () => (await fetch(url)).status === 200);
    await waitFor("the command to be gone", async () => !(await exec("busybox", "ps")).stdout.includes("sleep 7531"));
  });
});
