import { writeFile } from "node:fs/promises";
import { PassThrough, Readable } from "node:stream";
import { expect, it } from "vitest";
import { localFiles } from "../../../src/edgectl/documents/local-files.ts";
import { createInput, readBytes, readTextFile } from "../../../src/edgectl/io.ts";
import { convertWeb } from "../../support/edgectl/compose.ts";
import { tempDir } from "../../support/temp-dir.ts";

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

// An app got another password than the file had, without a word.
it("text in another encoding is refused wherever it is read", async () => {
  const latin1 = Buffer.from("PASSWORD=p\u00e4ss", "latin1");
  await using folder = await tempDir();
  const file = `${folder.path}/compose.yaml`;
  await writeFile(file, latin1);
  await expect(readTextFile(file)).rejects.toThrow(`${file} is not text in UTF-8.`);
  const input = createInput(Readable.from([latin1]), { write: () => true }, () => {}, new AbortController().signal);
  await expect(input.readAll()).rejects.toThrow("Standard input is not text in UTF-8.");

  const { problems } = convertWeb("env_file: web.env", "include: [other.yaml]", {
    files: { "web.env": latin1, "other.yaml": latin1 },
  });
  expect(problems).toEqual([
    expect.stringContaining("names web.env, which cannot be read (it is not text in UTF-8)"),
    expect.stringContaining("names other.yaml, which is not text in UTF-8"),
  ]);
});
