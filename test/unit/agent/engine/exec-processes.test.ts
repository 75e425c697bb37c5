import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import type Docker from "dockerode";
import { expect, it } from "vitest";
import { NONE, ofCommand } from "../../../../src/agent/engine/docker/exec-processes.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const CHUNK_BYTES = 64 * 1024;

/** A frame of stdout, as the engine sends it. */
function frame(text: string): Buffer {
  const header = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

/** Lists the processes in a container whose shell writes these chunks. */
async function list(chunks: Iterable<Uint8Array>) {
  const socket = Readable.from(chunks);
  const container = { exec: async () => ({ start: async () => socket }) } as unknown as Docker.Container;
  const at = { container, user: undefined, signal: new AbortController().signal };
  return { found: await ofCommand("list", { mark: "m", from: 1, to: 2 }, NONE, at), socket };
}

it("what the script writes is read, however the stream is cut", async () => {
  const bytes = Buffer.concat([frame("found  7:100 8:101 \nsessions  7 \n"), frame("end\n")]);
  const { found } = await list(Array.from(bytes, (byte) => Uint8Array.of(byte)));
  expect(found).toEqual({ processes: ["7:100", "8:101"], sessions: ["7"], left: [] });
});

interface Process {
  readonly parent: number;
  readonly start: number;
  readonly environment?: string;
}

/** Runs the script with these processes, by their ids. */
async function listOf(processes: Readonly<Record<number, Process>>): Promise<readonly string[] | undefined> {
  await using directory = await tempDir();
  const all: Readonly<Record<number, Process>> = { 1: { parent: 0, start: 1 }, ...processes };
  for (const [pid, { parent, start, environment = "" }] of Object.entries(all)) {
    const folder = join(directory.path, pid);
    await mkdir(folder);
    const fields = ["S", parent, pid, pid, ...Array.from({ length: 15 }, () => 0), start];
    await writeFile(join(folder, "stat"), `${pid} (some) name) ${fields.join(" ")}\n`);
    await writeFile(join(folder, "environ"), environment);
  }
  const run = async ({ Cmd: [shell = "", option = "", script = "", ...args] }: { readonly Cmd: readonly string[] }) => {
    const inDirectory = script.replaceAll("/proc", directory.path);
    const { stdout } = await promisify(execFile)(shell, [option, inDirectory, ...args]);
    return { start: async () => Readable.from([frame(stdout)]) };
  };
  const container = { exec: run } as unknown as Docker.Container;
  const at = { container, user: undefined, signal: new AbortController().signal };
  const found = await ofCommand("list", { mark: "m", from: 100, to: 200 }, NONE, at);
  return found?.processes.map((process) => process.split(":")[0] ?? "").toSorted();
}

const MARKED = "PATH=/bin\0EDGE_AGENT_EXEC=m\0";

it("a health check that began with the command is none of its processes", async () => {
  const healthCheck = { 60: { parent: 0, start: 150 }, 61: { parent: 60, start: 151 } };
  const command = { 50: { parent: 0, start: 140, environment: MARKED }, 51: { parent: 50, start: 300 } };
  await expect(listOf({ ...command, ...healthCheck, 62: { parent: 0, start: 250 } })).resolves.toEqual(["50", "51"]);
});

it("a command that has dropped its mark is found by when it began", async () => {
  const command = { 50: { parent: 0, start: 140 }, 51: { parent: 50, start: 300 } };
  await expect(listOf({ ...command, 62: { parent: 0, start: 250 } })).resolves.toEqual(["50", "51"]);
  // One that has left it keeps the mark: it is found besides.
  await expect(listOf({ ...command, 70: { parent: 1, start: 310, environment: MARKED } })).resolves.toEqual([
    "50",
    "51",
    "70",
  ]);
});

it("a shell that writes without an end is left, and nothing is said of the processes", async () => {
  let written = 0;
  function* flood() {
    yield frame("found  7:100 \nend\n");
    for (; written < 64 * 1024 * 1024; written += CHUNK_BYTES) yield frame("x".repeat(CHUNK_BYTES));
  }
  const { found, socket } = await list(flood());
  expect(found).toBeUndefined();
  expect(socket.destroyed).toBe(true);
  expect(written).toBeLessThan(4 * 1024 * 1024);
});
