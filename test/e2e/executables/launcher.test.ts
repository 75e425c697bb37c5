import { chmod, copyFile, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { VERSION } from "../../../src/lib/version.ts";
import { run } from "../../support/command.ts";
import { tempDir } from "../../support/temp-dir.ts";

/** Copies a program from dist/ to an empty folder. */
async function alone(name: string) {
  const folder = await tempDir();
  const files = (await readdir("dist")).filter((file) => file.split(".")[0] === name);
  for (const file of files) await copyFile(join("dist", file), join(folder.path, file));
  return folder;
}

/** Replaces Node.js with a script. */
async function fakeNode(folder: string, script: string): Promise<void> {
  await writeFile(join(folder, "node"), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, "node"), 0o755);
}

describe.each(["edge-agent", "edge-control", "edgectl"])("dist/%s, away from the project", (name) => {
  it("runs with only the Node.js beside it, also through a link", async () => {
    await using folder = await alone(name);
    await symlink(process.execPath, join(folder.path, "node"));
    await symlink(join(folder.path, name), join(folder.path, "link"));
    for (const command of [name, "link"]) {
      const outcome = await run(join(folder.path, command), ["--version"], {
        cwd: "/",
        env: { PATH: "/usr/bin:/bin" },
      });
      expect(outcome).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: "" });
    }
  });

  it("uses the Node.js on the PATH if none is beside it", async () => {
    await using folder = await alone(name);
    await using path = await tempDir();
    await symlink(process.execPath, join(path.path, "node"));
    const { stdout } = await run(join(folder.path, name), ["--version"], {
      env: { PATH: `${path.path}:/usr/bin:/bin` },
    });
    expect(stdout).toBe(`${VERSION}\n`);
  });

  it("reports a Node.js that is too old or missing", async () => {
    await using folder = await alone(name);
    await using path = await tempDir();
    for (const tool of ["readlink", "sh"]) await symlink(`/bin/${tool}`, join(path.path, tool));
    const env = { PATH: path.path };
    const none = await run(join(folder.path, name), [], { env });
    expect(none.code).toBe(1);
    expect(none.stderr).toMatch(new RegExp(`^${name}: needs Node.js 26 or newer, and found none.*\n$`));
    await fakeNode(path.path, "echo v20.20.2");
    const old = await run(join(folder.path, name), [], { env });
    expect(old.code).toBe(1);
    expect(old.stderr).toMatch(
      new RegExp(`^${name}: needs Node.js 26 or newer, and ${path.path}/node is v20.20.2.*\n$`),
    );
  });
});
