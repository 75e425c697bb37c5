import { gunzipSync, gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { contentFields } from "../../../../src/edgectl/documents/file-content.ts";
import { moveContents } from "../../../../src/edgectl/documents/move-contents.ts";
import type { AppFile } from "../../../../src/protocol/apps/app-files.ts";
import { parseNewAppSpec } from "../../../../src/protocol/apps/app-spec.ts";
import { MAX_APP_REQUEST_BYTES, MAX_APPLY_BYTES } from "../../../../src/protocol/limits.ts";
import { packContent, type UploadSource } from "../../../../src/edgectl/documents/large-content.ts";
import { noise, sha256Of } from "../../../support/uploads/upload.ts";

const KIB = 1024;
const file = (target: string, content: Buffer, fields: Partial<AppFile> = {}): AppFile => ({
  target,
  ...contentFields(content),
  ...fields,
});

const bytesOf = (source: UploadSource): Buffer => Buffer.concat([...source.read()]);

const sizeOf = (body: object): number => Buffer.byteLength(JSON.stringify(body));

it("a request that the service takes stays as it is", () => {
  const body = { name: "app", image: "app:1", files: [file("/a", noise(300 * KIB))] };
  expect(moveContents(body)).toEqual({ body, uploads: new Map() });
});

it("of a request that is too large the largest contents become uploads, and no more than must", () => {
  const [large, medium, small] = [noise(900 * KIB, "1"), noise(300 * KIB, "2"), noise(100 * KIB, "3")];
  const files = [file("/small", small), file("/large", large, { mode: "0555" }), file("/medium", medium)];
  const { body, uploads } = moveContents({ name: "app", image: "app:1", files });
  const [first, second, third] = body.files;
  expect([first, third]).toEqual([files[0], files[2]]);
  const [[sha256, source] = []] = [...uploads];
  const packed = bytesOf(source!);
  expect(uploads.size).toBe(1);
  expect(second).toEqual({
    target: "/large",
    mode: "0555",
    sha256: sha256Of(large),
    upload: { sha256, bytes: packed.length, size: large.length },
  });
  expect(sha256Of(packed)).toBe(sha256);
  expect(gunzipSync(packed).equals(large)).toBe(true);
  expect(sizeOf(body)).toBeLessThan(MAX_APP_REQUEST_BYTES);
});

it("of several apps they are moved too, packed as they were, and the same ones are one upload", () => {
  const text = Buffer.from(noise(1_000 * KIB).toString("hex"));
  const packed = contentFields(text);
  expect(packed.content_gzip).toBeDefined();
  const app = (name: string) => ({
    app: { name, files: [{ target: "/t", directory: true, ...packed }] },
    depends_on: [],
  });
  const request = { project: "line", apps: [app("one"), app("two"), { name: "three", absent: true }] };
  const { body, uploads } = moveContents(request);
  expect(sizeOf(body)).toBeLessThan(MAX_APPLY_BYTES);
  expect([...uploads.values()].map(bytesOf)).toEqual([Buffer.from(packed.content_gzip ?? "", "base64")]);
  expect(body.apps).toMatchObject([
    { app: { files: [{ directory: true, upload: { size: text.length } }] } },
    { app: { files: [{ upload: { size: text.length } }] } },
    { name: "three" },
  ]);
});

it("secrets stay in the request, and so does what is no list of files", () => {
  const secret = file("/s", noise(700 * KIB), { secret: true });
  const body = { files: [secret, "what", null], environments: 7 };
  expect(moveContents(body)).toEqual({ body, uploads: new Map() });
  const odd = { apps: [null, { app: 1 }, { app: { files: { a: noise(900 * KIB).toString("hex") } } }] };
  expect(moveContents(odd)).toEqual({ body: odd, uploads: new Map() });
});

it("a content that is packed in two ways becomes one upload: the service takes no other", () => {
  const content = Buffer.from(noise(600 * KIB).toString("hex"));
  const gzip = (level: number): string => gzipSync(content, { level }).toString("base64");
  const files = [1, 9].map((level) => ({ target: `/${level}`, content_gzip: gzip(level) }));
  const { body, uploads } = moveContents({
    name: "app",
    image: "app:1",
    files: [...files, file("/other", noise(100))],
  });
  expect(uploads.size).toBe(1);
  expect(parseNewAppSpec(body)).toMatchObject({ ok: true });
});

it("what was packed before is sent if the request names it", () => {
  const { sha256, upload, source } = packContent(() => [noise(1_000)])!;
  const packed = new Map([[upload.sha256, source]]);
  const named = { name: "app", image: "app:1", files: [{ target: "/a", sha256, upload }] };
  expect(moveContents(named, packed)).toEqual({ body: named, uploads: packed });
  // The device has it.
  const known = { ...named, files: [{ target: "/a", sha256 }] };
  expect(moveContents(known, packed)).toEqual({ body: known, uploads: new Map() });
});
