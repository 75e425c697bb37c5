import { readFile, writeFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { succeed } from "../../support/command.ts";
import { tempDir } from "../../support/temp-dir.ts";

const PR_SET_MDWE = 65;
const PR_MDWE_REFUSE_EXEC_GAIN = 1;

/** Calls a function where no memory may become executable, as in the packaged unit. Child processes inherit that. */
const PARENT = `
  import { spawnSync } from "node:child_process";
  import { loadLibc } from "./libc.mjs";
  const { prctl } = loadLibc({ prctl: { arguments: ["i32", "u64", "u64", "u64", "u64"], return: "i32" } });
  const isForbidden = prctl(${PR_SET_MDWE}, ${PR_MDWE_REFUSE_EXEC_GAIN}n, 0n, 0n, 0n) === 0;
  const { stdout, stderr } = spawnSync(process.execPath, [...process.execArgv, "child.mjs"], { encoding: "utf8" });
  process.stdout.write(isForbidden + " " + stdout + stderr);
`;
const CHILD = `
  import { loadLibc } from "./libc.mjs";
  process.stdout.write(String(loadLibc({ getpid: { arguments: [], return: "i32" } })?.getpid() === process.pid));
`;

test("functions of the C library are called also where no memory may become executable", async () => {
  await using directory = await tempDir();
  const source = await readFile(join(import.meta.dirname, "../../../src/lib/libc.ts"), "utf8");
  // Without its compiler Node.js does not strip types.
  const files = { "libc.mjs": stripTypeScriptTypes(source), "child.mjs": CHILD, "parent.mjs": PARENT };
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory.path, name), text);
  const args = ["--jitless", "--no-warnings", "parent.mjs"];
  // Kernels before 6.3 cannot forbid it.
  expect(await succeed(process.execPath, args, { cwd: directory.path })).toMatch(/^(true|false) true$/);
});
