import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { edgectlUser } from "../../support/edgectl/process.ts";

async function checker() {
  const user = await edgectlUser();
  const directory = join(user.configDirectory, "gw");
  await mkdir(directory, { recursive: true });
  return {
    directory,
    write: (name: string, text: string) => writeFile(join(directory, name), text),
    // No address of a service: nothing is asked.
    check: (...args: readonly string[]) =>
      user.run([
        "compose",
        "check",
        ...args.flatMap((arg) => (arg.endsWith(".yaml") ? ["-f", join(directory, arg)] : [arg])),
      ]),
    [Symbol.asyncDispose]: () => user[Symbol.asyncDispose](),
  };
}

const WRONG = [
  "services:",
  "  web:",
  "    image: Web:latest:1",
  "    ports: ['80:80']",
  "    uts: host",
  "    user: ${USER_ID}",
  "    attach: false",
  "    restart: always",
].join("\n");

describe("edgectl compose check", () => {
  test("takes a file that only includes others, and no directory for the file of variables", async () => {
    await using rig = await checker();
    await rig.write("compose.yaml", "include: [web.yaml]");
    await rig.write("web.yaml", "services: {web: {image: 'web:1', restart: always}}");
    await mkdir(join(rig.directory, ".env"));
    expect(await rig.check("compose.yaml")).toMatchObject({ code: 0, stderr: "" });
  });

  test("says all that is wrong at once, by line, also of .env and what the schema refuses", async () => {
    await using rig = await checker();
    await rig.write("compose.yaml", WRONG);
    await rig.write(".env", "A=1\n?\n");
    const { code, stdout, stderr } = await rig.check("compose.yaml");
    expect({ code, stderr }).toEqual({ code: 2, stderr: "" });
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.replace(`${rig.directory}/`, ""));
    expect(lines).toEqual([
      expect.stringMatching(/^compose\.yaml:3:5: error: services\.web: `image`/),
      expect.stringMatching(/^compose\.yaml:4:13: error: services\.web\.ports\[0\]/),
      expect.stringMatching(/^compose\.yaml:5:5: error: services\.web\.uts/),
      expect.stringMatching(/^compose\.yaml:6:11: error: services\.web\.user uses the variable USER_ID/),
      ".env:2:1: error: This line is not NAME=value.",
      expect.stringMatching(/^compose\.yaml:7:5: note: services\.web\.attach/),
      "The project gw cannot be applied: 5 problems.",
    ]);
  });

  test("--json is one document for an editor, and a file that can be applied ends with 0", async () => {
    await using rig = await checker();
    await rig.write("compose.yaml", WRONG);
    const wrong = await rig.check("compose.yaml", "--map-ports", "--json");
    expect(wrong.code).toBe(2);
    const document = JSON.parse(wrong.stdout) as { readonly problems: readonly object[] };
    expect(document).toMatchObject({ ok: false, project: "gw", apps: ["web"], notes: [{ line: 7, column: 5 }] });
    expect(document.problems).toContainEqual({
      file: join(rig.directory, "compose.yaml"),
      line: 5,
      column: 5,
      message: "services.web.uts is not supported. Use `hostname`.",
    });
    await rig.write("site.yaml", "services: {web: {image: web:1, uts: !reset null, user: '1'}}");
    const both = ["compose.yaml", "site.yaml", "--map-ports"];
    await rig.write(".env", "USER_ID=5\n");
    const right = await rig.check(...both, "--project", "p");
    expect(right.stdout).toMatch(/note: services\.web\.attach[^\n]*\nThe project p can be applied: 1 app\.\n$/);
    expect(right.code).toBe(0);
  });

  test("names the files that it includes as the first one is named, and puts each remark on one line", async () => {
    await using rig = await checker();
    await mkdir(join(rig.directory, "site"));
    await rig.write("compose.yaml", 'include: [site/web.yaml]\nservices: {a: {image: a, restart: always, "x\\ny": 1}}');
    await rig.write("site/web.yaml", "services: {web: {image: 'web:1', restart: always, uts: x, env_file: ./web.env}}");
    await rig.write("site/web.env", "?\n");
    await rig.write("site/.env", "?\n");
    const { stdout } = await rig.check("compose.yaml");
    const lines = stdout.trimEnd().split("\n");
    expect(lines.map((line) => line.replace(/ error: .*/, ""))).toEqual([
      expect.stringMatching(/compose\.yaml:2:/),
      `${join(rig.directory, "site/.env")}:1:1:`,
      `${join(rig.directory, "site/web.env")}:1:1:`,
      `${join(rig.directory, "site/web.yaml")}:1:51:`,
      "The project gw cannot be applied: 4 problems.",
    ]);
    expect(lines[0]).toContain("services.a.x\\x0ay is not known");
  });

  test("notes what devices refuse by default, and what they warn of, in the words of the file", async () => {
    await using rig = await checker();
    const web = "image: 'web:1', restart: always, volumes: ['./big:/data/big:ro']";
    const environment = "{DB_PASSWORD: planted, API_TOKEN: declared, LOG_LEVEL: debug}";
    await rig.write(
      "compose.yaml",
      `services:\n  web: {${web}, environment: ${environment}, x-edge-secrets: [API_TOKEN]}\n`,
    );
    await rig.write("big", "x".repeat(4 * 1024 ** 2 + 1));
    const { code, stdout } = await rig.check("compose.yaml");
    const lines = stdout.trimEnd().split("\n");
    expect(code).toBe(0);
    expect(lines.map((line) => line.replace(`${rig.directory}/`, ""))).toEqual([
      expect.stringMatching(/^compose\.yaml:1:1: note: .* 4\.19 MB \(4194305 bytes\).* 4194304 bytes.*max_files_bytes/),
      expect.stringMatching(/^compose\.yaml:2:\d+: note: services\.web: DB_PASSWORD .*x-edge-secrets: \[DB_PASSWORD\]/),
      "The project gw can be applied: 1 app.",
    ]);
    await rig.write("big", "x".repeat(4 * 1024 ** 2));
    expect((await rig.check("compose.yaml")).stdout).not.toContain("max_files_bytes");
    expect(stdout).not.toContain("planted");
  });

  test("a file that is no YAML is reported as one with other problems", async () => {
    await using rig = await checker();
    await rig.write("compose.yaml", "services:\n  a: {image: x\n");
    const path = join(rig.directory, "compose.yaml");
    const [text, json] = [await rig.check("compose.yaml"), await rig.check("compose.yaml", "--json")];
    expect(text).toMatchObject({ code: 2, stderr: "" });
    expect(text.stdout.split("\n")).toEqual([
      expect.stringContaining(`${path}:3:1: error: `),
      `${path} cannot be applied: 1 problem.`,
      "",
    ]);
    expect(json.code).toBe(2);
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: false,
      project: null,
      apps: [],
      problems: [{ file: path, line: 3, column: 1 }],
      notes: [],
    });
  });

  test("10 MB of YAML, and what is no compose file, are refused", async () => {
    await using rig = await checker();
    await rig.write("compose.yaml", `services:\n${"  a: {image: a}\n".repeat(650_000)}`);
    const large = await rig.check("compose.yaml");
    expect([large.code, large.stdout]).toEqual([2, expect.stringContaining("larger than 1 MiB")]);
    await rig.write("app.yaml", "name: web\nimage: web:1\n");
    const other = await rig.check("app.yaml");
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining("is no compose file")]);
    await rig.write("edge.yaml", "name: web\napps: {a: {image: a}}\n");
    const both = await rig.check("compose.yaml", "edge.yaml");
    expect(both.code).toBe(2);
  });
});
