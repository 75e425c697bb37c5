import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { localFiles } from "../../../src/edgectl/documents/local-files.ts";
import { createInput, readBytes } from "../../../src/edgectl/io.ts";

// Such as `-f /dev/zero`, or a link to it in a project: each took all memory.
it("a file without an end is refused", async () => {
  await expect(readBytes("/dev/zero")).rejects.toThrow("/dev/zero has more than 64 MiB.");
  expect(() => localFiles("/").read("dev/zero")).toThrow("has no end");
});

it("a standard input without an end is refused", async () => {
  const stdin = new PassThrough();
  const input = createInput(stdin, { write: () => true }, () => {}, new AbortController().signal);
  const chunk = Buffer.alloc(1024 * 1024);
  const read = expect(input.readAll()).rejects.toThrow("Standard input has more than 64 MiB.");
  for (let mib = 0; mib <= 64; mib++) stdin.write(chunk);
  await read;
});
