import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { prepareDataDir } from "../../../src/control-plane/data/data-dir.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { tempDir } from "../../support/temp-dir.ts";

// Says at the end which packages were loaded, as far as they are CommonJS, which fastify and ws are.
const PROBE = `data:text/javascript,${encodeURIComponent(`
  process.on("exit", () => {
    const files = Object.keys(process.getBuiltinModule("node:module")._cache);
    const packages = files.flatMap((file) => /.*node_modules[/]((?:@[^/]+[/])?[^/]+)/.exec(file)?.[1] ?? []);
    process.stderr.write(JSON.stringify([...new Set(packages)]));
  });
`)}`;

async function packagesLoadedBy(...command: readonly string[]): Promise<unknown> {
  const args = ["--import", PROBE, "src/control-plane/main.ts", ...command];
  const run = promisify(execFile)(process.execPath, args);
  const { stderr } = await run.catch((failure: { readonly stderr: string }) => failure);
  return JSON.parse(stderr.split("\n").at(-1) ?? "");
}

test("an administration command does not load the server", async () => {
  await using directory = await tempDir();
  await openStore(prepareDataDir(directory.path).database)[Symbol.asyncDispose]();
  const loaded = await packagesLoadedBy("key", "list", "--data-dir", directory.path);
  expect(loaded).not.toContain("fastify");
  expect(loaded).not.toContain("ws");
  expect(loaded).not.toContain("pg");
});

test("the command serve does load it, so the test above can fail", async () => {
  await using directory = await tempDir();
  // An address no machine has: the server is loaded, and ends for that.
  const loaded = await packagesLoadedBy("serve", "--listen", "192.0.2.1:1", "--data-dir", directory.path);
  expect(loaded).toEqual(expect.arrayContaining(["fastify", "ws"]));
});
