import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contentBytes } from "../../../src/protocol/apps/app-files.ts";
import { parseNewAppSpec, parseRequestedAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import { parseAppUpdate } from "../../../src/protocol/apps/app-update.ts";
import { MAX_UPLOADED_FILES_BYTES } from "../../../src/protocol/limits.ts";
import type { RequestIssue } from "../../../src/protocol/errors/request-error.ts";

const FILE = { target: "/etc/app.conf", content: "a" };
const MAX = 16 * 1024 * 1024;
const HASH = "a".repeat(64);
const UPLOAD = { sha256: "b".repeat(64), bytes: 100, size: 1_000 };
const gzip = (bytes: Buffer): string => gzipSync(bytes).toString("base64");

function issuesOf(files: unknown, more: object = {}): RequestIssue[] {
  const parsed = parseNewAppSpec({ name: "app", image: "example/app:1", files, ...more });
  return parsed.ok ? [] : (parsed.error.details?.["issues"] as RequestIssue[]);
}

describe("files of a request", () => {
  it.each([
    ["text, also empty", [{ target: "/a", content: "" }]],
    ["base64", [{ target: "/a", content_base64: "AAECAw==" }]],
    ["every attribute", [{ ...FILE, mode: "0640", owner: "4294967294:0", secret: true }]],
    ["text as large as a request", [{ target: "/a", content: "x".repeat(768 * 1024) }]],
    ["16 MiB, packed", [{ target: "/a", content_gzip: gzip(Buffer.alloc(MAX)) }]],
    ["a directory", [{ ...FILE, target: "/etc/app", directory: true }]],
    [
      "one upload in several places",
      [
        { target: "/a", sha256: HASH, upload: UPLOAD },
        { target: "/b", sha256: HASH, upload: UPLOAD },
        { target: "/c", sha256: "c".repeat(64), upload: { ...UPLOAD, size: 0 } },
      ],
    ],
    ["64 of them", Array.from({ length: 64 }, (_, index) => ({ target: `/f/${index}`, content: "" }))],
    [
      "targets with one beginning",
      [
        { ...FILE, target: "/etc/a" },
        { ...FILE, target: "/etc/ab" },
      ],
    ],
  ])("are accepted: %s", (_what, files) => {
    expect(issuesOf(files)).toEqual([]);
  });

  it.each([
    ["no content", [{ target: "/a" }], "files[0].content"],
    ["both contents", [{ ...FILE, content_base64: "AA==" }], "files[0].content_base64"],
    ["a target that is the root", [{ ...FILE, target: "/" }], "files[0].target"],
    ["a target that comes to the root", [{ ...FILE, target: "/./." }], "files[0].target"],
    ["a relative target", [{ ...FILE, target: "app.conf" }], "files[0].target"],
    ["a target with ..", [{ ...FILE, target: "/etc/../app.conf" }], "files[0].target"],
    ["a target with NUL", [{ ...FILE, target: "/a\0b" }], "files[0].target"],
    ["a target that is a directory", [{ ...FILE, target: "/etc/app/" }], "files[0].target"],
    ["one of the engine's files", [{ ...FILE, target: "/etc//hosts" }], "files[0].target"],
    ["a file of the kernel", [{ ...FILE, target: "/proc/version" }], "files[0].target"],
    ["one target twice", [FILE, { ...FILE, target: "/etc/./app.conf" }], "files[1].target"],
    ["a file inside of another", [FILE, { ...FILE, target: "/etc/app.conf/b" }], "files[1].target"],
    ["a set-id bit", [{ ...FILE, mode: "4755" }], "files[0].mode"],
    ["a mode that is not octal", [{ ...FILE, mode: "0888" }], "files[0].mode"],
    ["an owner out of range", [{ ...FILE, owner: "4294967295" }], "files[0].owner"],
    ["a group out of range", [{ ...FILE, owner: "1:4294967295" }], "files[0].owner"],
    ["an owner by name", [{ ...FILE, owner: "mosquitto" }], "files[0].owner"],
    ["no base64", [{ target: "/a", content_base64: "%%" }], "files[0].content_base64"],
    [
      "one byte too much",
      [
        { target: "/a", content_gzip: gzip(Buffer.alloc(MAX)) },
        { target: "/b", content: "x" },
      ],
      "files",
    ],
    ...[{ sha256: HASH }, { bytes: 101 }, { size: 0 }].map((other): [string, object[], string] => [
      `one content with another upload: ${Object.keys(other)[0]}`,
      [
        { target: "/a", sha256: HASH, upload: UPLOAD },
        { target: "/b", sha256: HASH, upload: { ...UPLOAD, ...other } },
      ],
      "files[1].upload",
    ]),
    [
      "one byte too much of one upload in several places",
      ["/a", "/b", "/c"].map((target) => ({
        target,
        sha256: HASH,
        upload: { ...UPLOAD, size: MAX_UPLOADED_FILES_BYTES / 2 },
      })),
      "files",
    ],
    ["more text than a request has", [{ target: "/a", content: "x".repeat(768 * 1024 + 1) }], "files[0].content"],
    ["packed, and as text", [{ ...FILE, content_gzip: gzip(Buffer.from("a")) }], "files[0].content_gzip"],
    ["packed by something else", [{ target: "/a", content_gzip: "AAECAw==" }], "files[0].content_gzip"],
    ["65 of them", Array.from({ length: 65 }, (_, index) => ({ target: `/${index}`, content: "" })), "files"],
    ["a directory with a mode", [{ ...FILE, directory: true, mode: "0444" }], "files[0].mode"],
    ["a directory with an owner", [{ ...FILE, directory: true, owner: "7" }], "files[0].owner"],
    ["a secret directory", [{ ...FILE, directory: true, secret: true }], "files[0].secret"],
    ["a directory around files of the engine", [{ ...FILE, directory: true, target: "/etc" }], "files[0].target"],
    ["a directory of the kernel", [{ ...FILE, directory: true, target: "/sys/kernel" }], "files[0].target"],
    [
      "a file inside of a directory",
      [
        { ...FILE, directory: true },
        { ...FILE, target: `${FILE.target}/a` },
      ],
      "files[1].target",
    ],
    ["what only a device says", [{ ...FILE, size: 1 }], "files[0].size"],
  ])("are refused: %s", (_what, files, path) => {
    expect(issuesOf(files).map((issue) => issue.path)).toContain(path);
  });

  it.each([
    ["inside of a device", { devices: [{ local: "/dev/null", target: "/etc" }] }],
    ["over a volume", { volumes: [{ local: "/srv", target: "/etc/app.conf" }] }],
    ["around a volume", { volumes: [{ local: "/srv", target: "/etc/app.conf/data" }] }],
    ["over a device", { devices: [{ local: "/etc/app.conf" }] }],
    [
      "inside of a volume, and over another",
      {
        volumes: [
          { name: "a", target: "/etc" },
          { name: "b", target: "/etc/app.conf" },
        ],
      },
    ],
    ["around a tmpfs", { tmpfs: [{ target: "/etc/app.conf/data" }] }],
  ])("are refused %s, whose name the message has", (_what, more) => {
    const [issue] = issuesOf([FILE], more);
    expect(issue?.path).toBe("files[0].target");
    expect(issue?.reason).toContain(`\`${Object.keys(more)[0]}\``);
  });

  it.each([
    { volumes: [{ local: "/srv", target: "/etc/" }] },
    { volumes: [{ name: "data", target: "/etc" }] },
    { tmpfs: [{ target: "/etc" }] },
  ])("may be inside of what is mounted: %j", (more) => {
    expect(issuesOf([FILE], more)).toEqual([]);
  });

  it("as a directory have no other mount inside", () => {
    const files = [{ ...FILE, target: "/etc/app", directory: true }];
    const [issue] = issuesOf(files, { volumes: [{ name: "data", target: "/etc/app/data" }] });
    expect(issue?.path).toBe("files[0].target");
    expect(issue?.reason).toContain("give its files one by one");
    expect(issuesOf(files, { volumes: [{ name: "data", target: "/etc" }] })).toEqual([]);
  });

  it("may omit a content in an update only", () => {
    expect(parseAppUpdate({ files: [{ target: "/a" }] }).ok).toBe(true);
    expect(parseRequestedAppSpec({ name: "app", image: "a:1", files: [{ target: "/a" }] }).ok).toBe(false);
  });

  it("have as many bytes as they are counted, whatever they hold", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.string({ unit: "binary" }), (bytes, text) => {
        expect(contentBytes({ content_base64: Buffer.from(bytes).toString("base64") })).toBe(bytes.length);
        expect(contentBytes({ content: text })).toBe(Buffer.byteLength(text));
      }),
    );
  });

  it("are never quoted by an error", () => {
    const secret = "very secret content";
    const issues = issuesOf([
      { target: "relative", content: secret, mode: secret },
      { target: "/a", content: 7 },
    ]);
    expect(JSON.stringify(issues)).not.toContain(secret);
  });
});
