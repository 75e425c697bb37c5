import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mapPorts } from "../../../../src/edgectl/group/map-ports.ts";
import { readGroupFile } from "../../../../src/edgectl/group-file/read-group.ts";
import { buildGroupRequest } from "../../../../src/edgectl/group/request.ts";
import { problemsOf, withListedDirectories } from "../../../support/edgectl/compose.ts";
import { tempDir } from "../../../support/temp-dir.ts";

let directory: Awaited<ReturnType<typeof tempDir>>;

beforeAll(async () => {
  directory = await tempDir();
  mkdirSync(join(directory.path, "plant"));
  writeFileSync(join(directory.path, "plant", "a.conf"), "port 1\n");
  writeFileSync(join(directory.path, "plant", "b.bin"), Buffer.from([0, 255]));
});

afterAll(() => directory[Symbol.asyncDispose]());

function read(text: string) {
  const path = join(directory.path, "plant", "edge.yaml");
  const file = readGroupFile([{ text, fileName: "edge.yaml", path }], { project: undefined, envFiles: [], env: {} });
  if (!file) return undefined;
  const { written, problems } = file;
  const ports = mapPorts(written, [], problems);
  const flags = { prune: false, adopt: false, keep: false };
  return { request: buildGroupRequest(written, ports, flags, {}), problems: problemsOf(problems) };
}

describe("a file of several apps", () => {
  test("in YAML and in JSON is the same", () => {
    const yaml = "name: p\napps:\n  a: {image: 'a:1'}\n  b:\n    image: b\n    depends_on: {a: healthy}\n";
    const json = { name: "p", apps: { a: { image: "a:1" }, b: { image: "b", depends_on: { a: "healthy" } } } };
    expect(read(yaml)).toEqual({
      request: {
        project: "p",
        apps: [
          { app: { name: "a", image: "a:1" }, depends_on: [] },
          { app: { name: "b", image: "b" }, depends_on: [{ app: "a", condition: "healthy" }] },
        ],
      },
      problems: [],
    });
    expect(read(JSON.stringify(json))).toEqual(read(yaml));
    expect(read(`\uFEFF${JSON.stringify(json, null, "\t")}`)).toEqual(read(yaml));
  });

  test.each([
    ["[a]", [{ app: "a", condition: "started" }]],
    ["{a: started}", [{ app: "a", condition: "started" }]],
    ["[{app: a, condition: healthy}]", [{ app: "a", condition: "healthy" }]],
    ["[{app: a}]", [{ app: "a", condition: "started" }]],
  ])("depends_on: %s", (text, expected) => {
    const result = read(`apps: {a: {image: a}, b: {image: b, depends_on: ${text}}}`);
    expect(result).toMatchObject({ problems: [], request: { project: "plant", apps: [{}, { depends_on: expected }] } });
  });

  test("`from` brings a directory beside it as a whole, unless others may not read a file of it", () => {
    const conf = join(directory.path, "plant", "conf");
    mkdirSync(join(conf, "sub"), { recursive: true });
    writeFileSync(join(conf, "sub", "c.conf"), "c\n");
    const text = "apps: {a: {image: a, files: [{target: /etc/app, from: ./conf}]}}";
    const result = read(text);
    expect(result?.problems).toEqual([]);
    expect(withListedDirectories(result?.request)).toMatchObject({
      apps: [{ app: { files: [{ target: "/etc/app", directory: { "sub/c.conf": "444 c\n" } }] } }],
    });
    writeFileSync(join(conf, "key"), "k", { mode: 0o600 });
    expect(read(text)?.problems).toEqual([expect.stringContaining("names ./conf, where others may not read key")]);
  });

  test("`from` brings the content of a file beside it", () => {
    const files = "[{target: /a, from: ./a.conf, mode: '0440'}, {target: /b, from: b.bin}, {target: /c, content: x}]";
    expect(read(`apps: {a: {image: a, files: ${files}}}`)?.request["apps"]).toEqual([
      {
        app: {
          name: "a",
          image: "a",
          files: [
            { target: "/a", mode: "0440", content: "port 1\n" },
            { target: "/b", content_base64: "AP8=" },
            { target: "/c", content: "x" },
          ],
        },
        depends_on: [],
      },
    ]);
    expect(read("apps:\n  a:\n    image: a\n    files:\n      - {target: /a, from: none}\n")?.problems).toEqual([
      "edge.yaml:5:22: apps.a.files[0].from names none, which is not a file here.",
    ]);
  });

  test("ports outside the range, or left open, get one of it", () => {
    const result = read(
      "apps: {a: {image: a, ports: [{target_port: 80}, {host_port: 53, target_port: 53, protocol: udp}]}}",
    );
    expect(result?.problems).toEqual([]);
    expect(result?.request["apps"]).toMatchObject([
      { app: { ports: [{ target_port: 80 }, { target_port: 53, protocol: "udp" }] } },
    ]);
  });

  test.each(["name: web\nimage: web:1\n", '{"name": "web", "image": "web:1"}', "text"])("%j is none", (text) => {
    expect(read(text)).toBeUndefined();
  });
});
