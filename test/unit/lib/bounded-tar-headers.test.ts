import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { extract, pack } from "tar-stream";
import { expect, test } from "vitest";
import { boundHeaders } from "../../../src/lib/bounded-tar-headers.ts";

async function commentLength(bytes: number): Promise<number> {
  const archive = pack();
  archive.entry({ name: "file", pax: { comment: "x".repeat(bytes) } }, "content");
  archive.finalize();
  const entries = boundHeaders(extract());
  let found = 0;
  const read = async (): Promise<void> => {
    for await (const entry of entries) {
      const { comment = "" } = (entry.header.pax ?? {}) as { readonly comment?: string };
      found = comment.length;
      entry.resume();
    }
  };
  await Promise.all([pipeline(Readable.from(archive, { objectMode: false }), entries), read()]);
  return found;
}

test("an extended header of a tar is read up to a bound", async () => {
  await expect(commentLength(200_000)).resolves.toBe(200_000);
  await expect(commentLength(300_000)).rejects.toThrow("more than 262144 bytes");
});
