import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { start } from "../support/command.ts";
import { freeHostPort } from "../support/free-port.ts";
import { webImage, WEB_PORT } from "../support/images.ts";
import { sharedSystem } from "../support/system/test-system.ts";

const system = sharedSystem();

test("the agent listens on no TCP or UDP port", async () => {
  const image = await system().load(await webImage());
  const ports = [{ host_port: await freeHostPort(), target_port: WEB_PORT }];
  await system().deploy({ name: system().name(), image, ports });
  const tables = await openSockets(system().agent.pid);
  // Its outgoing connection is found, which proves that the search works.
  expect(tables.tcp.some(({ state }) => state === ESTABLISHED)).toBe(true);
  expect(tables.tcp.filter(({ state }) => state === LISTEN)).toEqual([]);
  expect(tables.other).toEqual([]);
});

test("a second agent on the same state directory exits with a one-line error", async () => {
  const second = start("dist/edge-agent", ["run", "--config", system().agent.configFile]);
  onTestFinished(() => second[Symbol.asyncDispose]());
  expect(await second.exited).toBe(1);
  expect(second.stderr()).toBe(`edge-agent: ${system().agent.stateDir} is in use by another edge-agent\n`);
  expect(system().agent.isRunning).toBe(true);
});

test("a second service on the same data directory exits with a one-line error", async () => {
  const { dataDir } = system().control;
  const second = start("dist/edge-control", ["serve", "--listen", "127.0.0.1:0", "--data-dir", dataDir]);
  onTestFinished(() => second[Symbol.asyncDispose]());
  expect(await second.exited).toBe(1);
  expect(second.stderr()).toMatch(/^edge-control: another edge-control serves .*\n$/);
  expect(second.stderr()).toContain(dataDir);
  expect((await fetch(`${system().control.url}/readyz`)).status).toBe(200);
});

test("SIGTERM ends the agent and the service with 0 during a verification, and open streams report it", async () => {
  const image = await system().load(await webImage());
  await system().agent.restart({ deploy: { settle_window_s: 60 } });
  const stream = await system().open({ name: system().name(), image });
  await stream.event("verifying", ({ step }) => step === "verifying");
  expect(await system().agent.stop()).toBe(0);
  await stream.event("the loss", ({ details }) => details?.["connection"] === "lost");
  expect(await system().control.stop()).toBe(0);
  expect(await stream.ended).toBe(true);
  expect(stream.events.at(-1)).toMatchObject({
    status: "Running",
    message: expect.stringContaining("this stream ends; the deployment goes on") as string,
    details: { resume: expect.stringContaining(stream.deploymentId) as string },
  });
});

const ESTABLISHED = "01";
const LISTEN = "0A";

interface SocketEntry {
  readonly local: string;
  readonly state: string;
}

/** Open internet sockets of the process, from the kernel's tables. */
async function openSockets(pid: number): Promise<{ tcp: SocketEntry[]; other: SocketEntry[] }> {
  const directory = `/proc/${pid}/fd`;
  const links = await Promise.all(
    (await readdir(directory)).map((fd) => readlink(join(directory, fd)).catch(() => "")),
  );
  const inodes = new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const read = async (...tables: readonly string[]): Promise<SocketEntry[]> => {
    const texts = await Promise.all(
      tables.map((table) => readFile(`/proc/${pid}/net/${table}`, "utf8").catch(() => "")),
    );
    const rows = texts.flatMap((text) => text.split("\n").slice(1)).map((line) => line.trim().split(/\s+/));
    return rows
      .filter((fields) => inodes.has(fields[9] ?? ""))
      .map((fields) => ({ local: fields[1] ?? "", state: fields[3] ?? "" }));
  };
  return { tcp: await read("tcp", "tcp6"), other: await read("udp", "udp6", "udplite", "udplite6", "raw", "raw6") };
}
