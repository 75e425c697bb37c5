import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { prepareDataDir } from "../../../src/control-plane/data/data-dir.ts";
import { MAX_AGENT_RELEASES } from "../../../src/control-plane/store/agent-releases.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { digestOf } from "../../../src/lib/release/read-release.ts";
import { edgeControl } from "../../support/control-plane/edge-control.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { someRelease } from "../../support/updates/some-release.ts";

let directory: Awaited<ReturnType<typeof tempDir>>;
let dataDir: string;
beforeEach(async () => {
  directory = await tempDir();
  dataDir = join(directory.path, "data");
  await openStore(prepareDataDir(dataDir).database)[Symbol.asyncDispose]();
});
afterEach(() => directory[Symbol.asyncDispose]());

const command = (...args: readonly string[]) => edgeControl(...args, "--data-dir", dataDir);

test("releases are added, listed and removed", async () => {
  const release = await someRelease(directory.path, "1.5.0");
  const added = await command("agent-release", "add", release.layout, "--key", release.keyFile);
  expect(added).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^added release 1\.5\.0, sha256:[0-9a-f]{64}\n$/),
    stderr: "",
  });
  const listed = await command("agent-release", "list");
  expect(listed.stdout).toMatch(
    /^VERSION +ADDED +ARCHITECTURES +DIGEST\n1\.5\.0 +\S+Z +amd64 300\.0 kB, arm64 300\.0 kB +sha256:/,
  );
  const { stdout } = await command("agent-release", "list", "--json");
  const sizes = { bytes: 300_000, unpacked_bytes: 600_000 };
  expect(JSON.parse(stdout)).toEqual([
    {
      version: "1.5.0",
      digest: expect.stringMatching(/^sha256:/),
      images: [
        { architecture: "amd64", ...sizes },
        { architecture: "arm64", ...sizes },
      ],
      added_at: expect.any(Number),
    },
  ]);
  expect(await command("agent-release", "remove", "1.5.0")).toMatchObject({
    code: 0,
    stdout: "removed release 1.5.0\n",
  });
  expect((await command("agent-release", "list", "--json")).stdout).toBe("[]\n");
});

test("what cannot be done says why", async () => {
  const release = await someRelease(directory.path, "1.5.0");
  const { layout, keyFile } = release;
  const refusal = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await command("agent-release", ...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    return stderr;
  };
  expect(await refusal("add", layout)).toMatch(/no keys to check the release with .*--key/);
  const other = await someRelease(directory.path, "1.6.0");
  expect(await refusal("add", layout, "--key", other.keyFile)).toMatch(/none of the keys has signed the release/);
  expect(await refusal("add", directory.path, "--key", keyFile)).toMatch(/index\.json cannot be read: ENOENT/);
  expect(await refusal("remove", "1.5.0")).toMatch(/there is no release 1\.5\.0/);
  await command("agent-release", "add", layout, "--key", keyFile);
  expect(await refusal("add", layout, "--key", keyFile)).toMatch(/release 1\.5\.0 is there already, with sha256:/);
  for (let number = 1; number < MAX_AGENT_RELEASES; number++) {
    const next = await someRelease(directory.path, `2.${number}.0`, { layerBytes: 10 });
    expect((await command("agent-release", "add", next.layout, "--key", next.keyFile)).stderr).toBe("");
  }
  expect(await refusal("add", other.layout, "--key", other.keyFile)).toMatch(/10 releases already: remove one/);
});

test("a backup has the releases", async () => {
  const release = await someRelease(directory.path, "1.5.0");
  await command("agent-release", "add", release.layout, "--key", release.keyFile);
  const file = join(directory.path, "backup.db");
  await command("backup", file);
  await command("agent-release", "remove", "1.5.0");
  expect(await command("restore", file)).toMatchObject({ code: 0 });
  await using store = openStore(prepareDataDir(dataDir).database);
  const layer = release.layers["arm64"]!;
  const pieces = await Promise.all(
    [0, 1, 2].map((position) => store.agentReleases.readPiece(digestOf(layer), position)),
  );
  expect(Buffer.concat(pieces as Uint8Array[]).equals(layer)).toBe(true);
});
