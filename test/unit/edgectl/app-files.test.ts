import { createHash, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { diffApp } from "../../../src/edgectl/apply/diff.ts";
import { withKnownHashes } from "../../../src/edgectl/group/known-files.ts";
import { updateFor } from "../../../src/edgectl/apply/plan.ts";
import { describeFiles, keptFiles, parseFileOption, readAppFiles } from "../../../src/edgectl/deploy/app-files.ts";
import { parseRequestedAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import { tempDir } from "../../support/temp-dir.ts";

it.each([
  ["./a.conf:/etc/a.conf", { local: "./a.conf", target: "/etc/a.conf" }],
  ["a:b.conf:/etc/a.conf:0440", { local: "a:b.conf", target: "/etc/a.conf", mode: "0440" }],
  ["/x/y:/etc/a.conf:600", { local: "/x/y", target: "/etc/a.conf", mode: "600" }],
])("--file %s names a file and its target", (text, option) => {
  expect(parseFileOption(text)).toEqual(option);
});

it.each(["a.conf", "a.conf:etc/a.conf", ":/etc/a.conf", "a:/etc/a.conf:0999"])(
  "--secret-file %s is refused",
  (text) => {
    expect(() => parseFileOption(text)).toThrow("LOCAL:TARGET");
  },
);

it("files are read as text or base64, and refused by name where they cannot be read or are too large", async () => {
  const directory = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  const local = (name: string, content: string | Uint8Array): { local: string; target: string } => {
    writeFileSync(join(directory.path, name), content);
    return { local: join(directory.path, name), target: `/${name}` };
  };
  const plain = [
    local("text", "grüße\n"),
    local("binary", Buffer.from([0xff, 0])),
    local("control", "\u0001".repeat(300)),
  ];
  expect(await readAppFiles(plain, [local("secret", "s")])).toEqual([
    { target: "/text", content: "grüße\n" },
    { target: "/binary", content_base64: "/wA=" },
    { target: "/control", content_base64: Buffer.from("\u0001".repeat(300)).toString("base64") },
    { target: "/secret", content: "s", secret: true },
  ]);
  await expect(readAppFiles([{ local: "/nowhere/a", target: "/a" }], [])).rejects.toThrow("/nowhere/a cannot be read");
  const large = local("large", Buffer.alloc(16 * 1024 * 1024));
  await expect(readAppFiles([large], [])).resolves.toHaveLength(1);
  await expect(readAppFiles([large], [local("one", "x")])).rejects.toThrow("more than 16 MiB");
});

it("files are packed where that saves a quarter of them, and described by what they contain", async () => {
  const directory = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  const contents = {
    short: Buffer.from("a".repeat(2_047)),
    text: Buffer.from("a line of a log\n".repeat(4096)),
    random: randomBytes(32_768),
  };
  const options = Object.entries(contents).map(([name, content]) => {
    const path = join(directory.path, name);
    writeFileSync(path, content);
    return { local: path, target: `/${name}` };
  });
  const files = await readAppFiles(options, []);
  expect(files.map((file) => Object.keys(file)[1])).toEqual(["content", "content_gzip", "content_base64"]);
  const described = Object.values(contents).map((content) => ({
    size: content.length,
    sha256: createHash("sha256").update(content).digest("hex"),
  }));
  expect(describeFiles(files)).toMatchObject(described);
});

const FILE = { target: "/etc/a.conf", content: "a", mode: "440" };
const SECRET = { target: "/run/b", content: "bbbbbbbb", secret: true };

function appWith(files: unknown) {
  const parsed = parseRequestedAppSpec({ name: "app", image: "a:1", ...(files !== undefined && { files }) });
  if (!parsed.ok) throw parsed.error;
  return parsed.spec;
}

/** As a device reports the files. */
const reported = (files: readonly { target: string }[]) => ({ image: "a:1", files: describeFiles(files) });
const show = { showValues: true };

it("apply compares files by their hashes, and leaves secrets to the device", () => {
  expect(diffApp(reported([FILE]), appWith([{ ...FILE, mode: "0440" }]), show)).toEqual([]);
  expect(diffApp(reported([FILE, SECRET]), appWith([{ ...FILE, content: "b" }, SECRET]), show)).toMatchObject([
    { field: "files./etc/a.conf", change: "change" },
    { field: "files./run/b", change: "check" },
  ]);
  expect(diffApp(reported([FILE]), appWith([SECRET]), show).map(({ change }) => change)).toEqual(["remove", "add"]);
  expect(JSON.stringify(diffApp({}, appWith([FILE, SECRET]), show))).not.toContain("bbbbbbbb");
});

it("apply sends the hashes of contents that the app has at these targets, but of secrets and of what is as short", () => {
  const long = { ...FILE, content: "a".repeat(200) };
  const secret = { ...SECRET, content: "b".repeat(200) };
  const { sha256 } = describeFiles([long])[0] ?? {};
  const short = { ...FILE, target: "/etc/short" };
  const files = [long, { ...long, target: "/etc/new" }, { ...long, mode: "0400" }, secret, short];
  expect(withKnownHashes(files, describeFiles([long, secret, short]))).toEqual([
    { target: "/etc/a.conf", mode: "440", sha256 },
    files[1],
    { target: "/etc/a.conf", mode: "0400", sha256 },
    secret,
    short,
  ]);
  expect(withKnownHashes(files, undefined)).toEqual(files);
});

it("an app without files in its file has none", () => {
  expect(updateFor(appWith(undefined), reported([FILE]))["files"]).toBeNull();
});

it("an update that adds a file keeps the others", () => {
  expect(keptFiles(describeFiles([FILE, SECRET]))).toEqual([{ target: "/etc/a.conf" }, { target: "/run/b" }]);
});
