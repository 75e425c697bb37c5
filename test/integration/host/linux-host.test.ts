import { existsSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createSocket } from "node:dgram";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createLinuxHost } from "../../../src/agent/host/linux-host.ts";
import { tempDir } from "../../support/temp-dir.ts";

const unaborted = new AbortController().signal;
const host = createLinuxHost();

async function directory(): Promise<string> {
  const created = await tempDir();
  onTestFinished(() => created[Symbol.asyncDispose]());
  return created.path;
}

async function listen(address: string): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, address, resolve);
  });
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const ipv6 = existsSync("/proc/net/if_inet6") ? ["::1", "::"] : [];

test.each(["127.0.0.1", "0.0.0.0", ...ipv6])("a socket listening on %s is found", async (address) => {
  const port = await listen(address);
  const found = (await host.listeningPorts(unaborted)).filter((socket) => socket.port === port);
  const inode = expect.any(Number) as number;
  expect(found).toEqual([{ address, port, protocol: "tcp", uid: process.getuid?.(), inode }]);
});

test("the listening process is named, without its arguments", async () => {
  const port = await listen("127.0.0.1");
  const name = (await readFile("/proc/self/comm", "utf8")).trim();
  expect(await host.findPortHolder({ port, protocol: "tcp" }, unaborted)).toEqual({ pid: process.pid, name });
});

test("a UDP socket is found, and distinguished from a TCP one of the same port", async () => {
  const socket = createSocket("udp4");
  onTestFinished(() => void socket.close());
  const port = await new Promise<number>((resolve) => {
    socket.bind(0, "127.0.0.1", () => resolve(socket.address().port));
  });
  const found = (await host.listeningPorts(unaborted)).filter((one) => one.port === port);
  expect(found).toMatchObject([{ address: "127.0.0.1", protocol: "udp" }]);
  expect(await host.findPortHolder({ port, protocol: "udp" }, unaborted)).toMatchObject({ pid: process.pid });
  expect(await host.findPortHolder({ port, protocol: "tcp" }, unaborted)).toBeUndefined();
});

test("a device file is recognized, also through a symbolic link; a regular file and a missing one are not", async () => {
  const folder = await directory();
  await symlink("/dev/null", join(folder, "link"));
  await writeFile(join(folder, "file"), "");
  expect(await host.isDevice("/dev/null")).toBe(true);
  expect(await host.isDevice(join(folder, "link"))).toBe(true);
  expect(await host.isDevice(join(folder, "file"))).toBe(false);
  expect(await host.isDevice(join(folder, "nothing"))).toBe(false);
});

test("what is not there is missing, also behind a link; what cannot be looked at is not", async () => {
  const folder = await directory();
  await symlink(join(folder, "nothing"), join(folder, "link"));
  await writeFile(join(folder, "file"), "");
  expect(await host.isMissing(join(folder, "nothing"))).toBe(true);
  expect(await host.isMissing(join(folder, "link"))).toBe(true);
  expect(await host.isMissing(folder)).toBe(false);
  expect(await host.isMissing(join(folder, "file", "below"))).toBe(false);
});

test("a free port has no holder", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => {
    server.close(resolve);
  });
  expect(await host.findPortHolder({ port, protocol: "tcp" }, unaborted)).toBeUndefined();
});

test("without IPv6 the IPv4 sockets are found", async () => {
  const proc = await directory();
  await mkdir(join(proc, "net"));
  await writeFile(join(proc, "net", "tcp"), await readFile("/proc/net/tcp"));
  const sockets = await createLinuxHost(proc).listeningPorts(unaborted);
  expect(sockets.every(({ address }) => !address.includes(":"))).toBe(true);
});

test("a missing table is an error", async () => {
  const proc = await directory();
  await writeFile(join(proc, "net"), "no directory");
  await expect(createLinuxHost(proc).listeningPorts(unaborted)).rejects.toThrow(/ENOTDIR/);
});

test("free space is that of the file system, and undefined for a missing path", async () => {
  const path = await directory();
  expect(await host.freeBytes(path)).toBeGreaterThan(0);
  expect(await host.freeBytes(join(path, "nothing", "here"))).toBeUndefined();
});

test("links are resolved as far as the path exists", async () => {
  const path = await directory();
  await mkdir(join(path, "real", "inner"), { recursive: true });
  await symlink(join(path, "real"), join(path, "link"));
  await symlink("../link/inner", join(path, "real", "loop-free"));
  await symlink(join(path, "later"), join(path, "dangling"));
  await symlink("self", join(path, "self"));
  const resolved = async (name: string): Promise<string> => (await host.resolvePath(join(path, name))).real;
  expect(await resolved("real/inner")).toBe(join(path, "real", "inner"));
  expect(await resolved("link/inner/not/there")).toBe(join(path, "real", "inner", "not", "there"));
  expect(await resolved("link/loop-free/new")).toBe(join(path, "real", "inner", "new"));
  expect(await resolved("dangling/sub")).toBe(join(path, "later", "sub"));
  expect(await resolved("link/../link/./inner")).toBe(join(path, "real", "inner"));
  expect(await resolved("self/x")).toBe(join(path, "self", "x"));
  expect((await host.resolvePath("/")).real).toBe("/");
});
