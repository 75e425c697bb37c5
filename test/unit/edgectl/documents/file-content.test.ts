import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { contentFields, contentOf } from "../../../../src/edgectl/documents/file-content.ts";
import { EXIT } from "../../../../src/edgectl/failure.ts";
import { MAX_APP_FILES_BYTES } from "../../../../src/protocol/limits.ts";

const gzip = (bytes: number): string => gzipSync(Buffer.alloc(bytes)).toString("base64");

it("a content is the same in each of its fields", () => {
  const text = "a line of a log\n".repeat(1_000);
  const { content_gzip } = contentFields(Buffer.from(text));
  expect(content_gzip).toBeDefined();
  for (const fields of [{ content: text }, { content_base64: Buffer.from(text).toString("base64") }, { content_gzip }])
    expect(contentOf(fields as object).toString()).toBe(text);
  expect(contentOf({ content_gzip: gzip(MAX_APP_FILES_BYTES) })).toHaveLength(MAX_APP_FILES_BYTES);
});

it("a content of the person's own file is unpacked to what an app may have, whatever size it says", () => {
  const bomb = Buffer.from(gzip(8 * MAX_APP_FILES_BYTES), "base64");
  // The size that gzip ends with, by which a request is counted.
  bomb.writeUInt32LE(1, bomb.length - 4);
  expect(() => contentOf({ target: "/etc/app", content_gzip: bomb.toString("base64") })).toThrow(
    expect.objectContaining({
      message: "The `content_gzip` of /etc/app unpacks to far more than the 16 MiB that the files of an app may have.",
      exitCode: EXIT.usage,
    }),
  );
});

it("a content that cannot be unpacked is said, not thrown as a defect", () => {
  const cut = gzip(1_000).slice(0, 16);
  for (const [target, of] of [
    ["/etc/app", " of /etc/app"],
    [undefined, ""],
  ] as const)
    expect(() => contentOf({ content_gzip: cut, ...(target !== undefined && { target }) })).toThrow(
      expect.objectContaining({ message: `The \`content_gzip\`${of} cannot be unpacked.`, exitCode: EXIT.usage }),
    );
});
