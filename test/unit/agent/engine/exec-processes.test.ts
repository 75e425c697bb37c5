import { Readable } from "node:stream";
import type Docker from "dockerode";
import { expect, it } from "vitest";
import { NONE, ofCommand } from "../../../../src/agent/engine/docker/exec-processes.ts";

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
