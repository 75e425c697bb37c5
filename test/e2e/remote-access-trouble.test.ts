import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { pack, type Header } from "tar-stream";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type RemoteUser, remoteUser } from "../support/edgectl/remote-user.ts";
import { execIn } from "../support/images/exec.ts";
import { sleeperImage, webImage, WEB_PORT } from "../support/images.ts";
import { RawStreamClient } from "../support/raw-stream-client.ts";
import { SlowLink } from "../support/slow-link.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

const ALLOWED = { policy: { remote_access: "exec" } } as const;
const MEGABYTE = 1_000_000;

/** Resident memory of a process. */
const residentBytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;

describe("a link of 50 kB/s", () => {
  const SLOW = 50_000;
  let link: SlowLink;
  const system = sharedSystem((owned) => ({
    agentConfig: { ...ALLOWED, link: { keepalive_s: 10, keepalive_min_s: 10, pong_timeout_s: 10 } },
    async linkTo(port) {
      link = owned.use(await SlowLink.to(port, SLOW, "both"));
      return Number(link.host.split(":")[1]);
    },
  }));
  const owned = new AsyncDisposableStack();
  let user: RemoteUser;
  let app = "";
  let sleeper = "";
  beforeAll(async () => {
    user = owned.use(await remoteUser(system(), ["apps.forward", "apps.exec"]));
    app = system().name("web");
    sleeper = await system().load(await sleeperImage());
    expect((await system().deploy({ name: app, image: await system().load(await webImage()) })).final.status).toBe(
      "Success",
    );
  });
  afterAll(() => owned.disposeAsync());
  const exec = (...command: string[]) => user.run(["exec", system().asset.serialNumber, app, "--", ...command]);

  test("a large download fills it, beside deployments, commands and keep-alives, with bounded memory", async () => {
    // Takes four minutes, of which this test waits for a few seconds.
    const size = 12_000_000;
    const sum = (await exec("sh", "-c", `busybox head -c ${size} /dev/urandom > /www/big; busybox md5sum < /www/big`))
      .stdout;
    const { url, command } = await user.forward(app, WEB_PORT);
    await using _command = command;
    const sessions = system().countSessions();
    const before = residentBytes(system().agent.pid);
    let received = 0;
    let isDone = false;
    const download = (async () => {
      const parts: Uint8Array[] = [];
      const { body } = await fetch(`${url}/big`);
      for await (const part of body as unknown as AsyncIterable<Uint8Array>) {
        parts.push(part);
        received += part.length;
      }
      isDone = true;
      return Buffer.concat(parts);
    })();
    await waitFor("the download to run", () => received > 50_000);
    const { final } = await system().deploy({ name: system().name("beside"), image: sleeper });
    expect(final.status).toBe("Success");
    expect((await exec("echo", "beside")).stdout).toBe("beside\n");
    // The download is what waits.
    expect(isDone).toBe(false);
    link.bytesPerSecond = Infinity;
    const content = await download;
    link.bytesPerSecond = SLOW;
    expect(content).toHaveLength(size);
    expect((await user.run(["exec", system().asset.serialNumber, app, "--", "busybox", "md5sum"], "")).code).toBe(0);
    const { createHash } = await import("node:crypto");
    expect(sum).toContain(createHash("md5").update(content).digest("hex"));
    expect(system().countSessions()).toBe(sessions);
    expect(residentBytes(system().agent.pid) - before).toBeLessThan(40 * MEGABYTE);
  });

  test("that is cut under a download ends it, and what is opened later works", async () => {
    await exec("sh", "-c", "busybox head -c 1500000 /dev/urandom > /www/big");
    const { url, command } = await user.forward(app, WEB_PORT);
    await using _command = command;
    const { body } = await fetch(`${url}/big`);
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    const sessions = system().countSessions();
    system().link.cut();
    const ended = (async () => {
      while (!(await reader.read()).done);
    })();
    await expect(ended).rejects.toThrow();
    await waitFor("the device to be back", () => system().countSessions() > sessions);
    await waitFor("the page", async () => (await fetch(url)).status === 200);
  });
});

describe("trouble", () => {
  const system = sharedSystem(() => ({ agentConfig: ALLOWED }));
  const owned = new AsyncDisposableStack();
  let user: RemoteUser;
  let app = "";
  let container = "";
  beforeAll(async () => {
    user = owned.use(await remoteUser(system(), ["apps.forward", "apps.exec"]));
    app = system().name("web");
    const { final, deploymentId } = await system().deploy({ name: app, image: await system().load(await webImage()) });
    expect(final.status).toBe("Success");
    container = (await system().inspect(deploymentId)).Id;
  });
  afterAll(() => owned.disposeAsync());
  const exec = (...command: string[]) => user.run(["exec", system().asset.serialNumber, app, "--", ...command]);
  /** Whether a process of the app has this text in its arguments. */
  const runs = async (text: string): Promise<boolean> => {
    const script = `busybox ps | busybox grep -v grep | busybox grep -q '${text}'`;
    return (await execIn(system().engineSocket, container, ["/bin/busybox", "sh", "-c", script])) === 0;
  };
  const rawClient = async (): Promise<RawStreamClient> => {
    const client = await RawStreamClient.connect(system().control.url, system().asset.uuid, app, user.apiKey);
    onTestFinished(() => client[Symbol.asyncDispose]());
    return client;
  };

  test("a command that floods a client that does not read costs device and service little memory", async () => {
    await exec("true");
    const processes = [system().agent.pid, system().control.pid];
    const before = processes.map(residentBytes);
    const client = await rawClient();
    for (let id = 1; id <= 8; id++) client.open(id, "exec", { command: ["busybox", "yes", `flood${id}`] }, 262_144);
    client.freeze();
    await waitFor("the flood", () => runs("flood8"));
    // Enough turns for whoever does not wait for the reader.
    for (let i = 0; i < 5; i++) expect((await exec("echo", "still here")).stdout).toBe("still here\n");
    const growth = processes.map((pid, i) => residentBytes(pid) - (before[i] ?? 0));
    expect(Math.max(...growth)).toBeLessThan(60 * MEGABYTE);
    await client[Symbol.asyncDispose]();
    await waitFor("the end of the flood", async () => !(await runs("flood")));
  });

  /** Sends an archive with these entries to be unpacked in /tmp. Resolves with the end of the stream. */
  const copy = async (...entries: readonly (Partial<Header> & Pick<Header, "name">)[]) => {
    const archive = pack();
    for (const entry of entries) archive.entry(entry, entry.type === undefined ? "x" : "");
    archive.finalize();
    const client = await rawClient();
    client.open(1, "write", { path: "/tmp" });
    await client.next("stream_opened");
    for (let rest = await buffer(archive); rest.length > 0; rest = rest.subarray(4_096))
      client.data(1, 0, rest.subarray(0, 4_096));
    client.data(1, 3, new Uint8Array());
    return await client.next("stream_close");
  };

  test("a hostile archive leaves no device file, no setuid program and nothing outside", async () => {
    expect(await copy({ name: "program", mode: 0o6755 })).toEqual({ type: "stream_close", stream_id: 1 });
    expect((await exec("busybox", "stat", "-c", "%a %u", "/tmp/program")).stdout).toBe("755 0\n");
    for (const entry of [
      { name: "disk", type: "block-device", devmajor: 8, devminor: 0 },
      { name: "../planted", type: "directory" },
      { name: "/planted", type: "directory" },
    ] as const) {
      expect(await copy(entry)).toMatchObject({ code: "InvalidRequest" });
    }
    expect((await exec("sh", "-c", "ls /tmp/disk /planted /tmp/planted 2>/dev/null")).stdout).toBe("");
  });

  test("two users at once, each with a forward, a command and a copy", async () => {
    await using other = await remoteUser(system(), ["apps.forward", "apps.exec"]);
    const work = async (who: RemoteUser, name: string): Promise<void> => {
      const asset = system().asset.serialNumber;
      const { url, command } = await who.forward(app, WEB_PORT);
      await using _command = command;
      const [page, ran, copied] = await Promise.all([
        fetch(url).then((response) => response.text()),
        who.run(["exec", asset, app, "--", "cat"], name.repeat(10_000)),
        who.run(["cp", asset, `${app}:/www/index.html`, "-"]),
      ]);
      expect(page).toContain("edge-agent test app");
      expect(ran).toEqual({ code: 0, stdout: name.repeat(10_000), stderr: "" });
      expect(copied.stdout).toBe(page);
    };
    await Promise.all([work(user, "one"), work(other, "two")]);
  });

  /** edgectl with an input that stays open. */
  const interactive = (command: string, args: readonly string[]) => {
    const env = { ...process.env, EDGECTL_URL: system().control.url, EDGECTL_API_KEY: user.apiKey };
    const child = spawn(command, args, { env, stdio: ["pipe", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    let text = "";
    child.stdout.on("data", (bytes: Buffer) => (text += bytes.toString()));
    const exited = once(child, "exit") as Promise<[number | null]>;
    return { child, exited, text: () => text };
  };

  test("Ctrl-C ends edgectl and the command, also with an input that is still open", async () => {
    const args = ["exec", system().asset.serialNumber, app, "-T", "--", "sh", "-c", "echo on; sleep 5511"];
    const { child, exited, text } = interactive("dist/edgectl", args);
    await waitFor("the command", () => text().includes("on"));
    child.kill("SIGINT");
    expect(await exited).toEqual([130, null]);
    await waitFor("the command to be gone", async () => !(await runs("sleep 5511")));
  });

  test("in a terminal Ctrl-C is a key of the command's", async () => {
    const script = "trap 'echo interrupted; exit 9' INT; echo on; while :; do busybox sleep 0.1; done";
    const words = ["dist/edgectl", "exec", system().asset.serialNumber, app, "--", "sh", "-c", script];
    const quoted = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
    const { child, exited, text } = interactive("script", ["-qefc", quoted, "/dev/null"]);
    await waitFor("the command", () => /^on\r?$/m.test(text()));
    child.stdin.write("\u0003");
    await waitFor("the signal", () => text().includes("interrupted"));
    expect((await exited)[0]).toBe(9);
  });

  test("an agent that stops kills the commands it has started", async () => {
    const args = ["exec", system().asset.serialNumber, app, "--", "sh", "-c", "echo on; sleep 5522"];
    await using command = user.start(args);
    await command.waitForOutput("on");
    await system().agent.stop();
    expect(await runs("sleep 5522")).toBe(false);
    expect(await command.exited).toBe(1);
    await system().agent.start();
  });

  test("an asset that is removed under a command ends it", async () => {
    const args = ["exec", system().asset.serialNumber, app, "--", "sh", "-c", "echo on; sleep 5533"];
    await using command = user.start(args);
    await command.waitForOutput("on");
    const headers = { "X-API-Key": system().account.apiKey };
    const url = `${system().control.url}/v1/assets/${system().asset.uuid}`;
    expect((await fetch(url, { method: "DELETE", headers })).status).toBeLessThan(300);
    expect(await command.exited).toBe(1);
    expect(command.stderr()).toContain("(DeviceNotReachable)");
    await waitFor("the command to be gone", async () => !(await runs("sleep 5533")));
  });
});
