import { chmod, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { apiClient } from "../../support/api-client.ts";
import { start } from "../../support/command.ts";
import { documented, fill } from "../../support/documentation.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { freePort } from "../../support/free-port.ts";
import { tempDir } from "../../support/temp-dir.ts";

/** A folder with the built programs, and an `npm` that only accepts `npm run build`: it has been run for the tests. */
async function projectFolder() {
  const folder = await tempDir();
  await symlink(resolve("dist"), join(folder.path, "dist"));
  await mkdir(join(folder.path, "bin"));
  await writeFile(join(folder.path, "bin/npm"), '#!/bin/sh\n[ "$*" = "run build" ] || echo "npm $*" >&2\n');
  await chmod(join(folder.path, "bin/npm"), 0o755);
  return folder;
}

function stop(pid: number): void {
  try {
    process.kill(pid);
  } catch {
    // It has ended already.
  }
}

test('"By hand", pasted into a shell, serves one database with an account, a key and a device', async () => {
  await using folder = await projectFolder();
  const dataDir = join(folder.path, "var/control");
  const port = await freePort();
  const block = fill(documented("docs/service-setup.md", "By hand"), {
    "/var/lib/edge-control": dataDir,
    "0.0.0.0:8080": `127.0.0.1:${port}`,
    "http://127.0.0.1:8080": `http://127.0.0.1:${port}`,
  });
  await using shell = start("sh", [], {
    cwd: folder.path,
    env: { PATH: `${join(folder.path, "bin")}:${process.env["PATH"]}`, EDGE_CONTROL_DATA_DIR: undefined },
    input: `${block}\necho "server: $!"\n`,
  });
  await shell.waitForOutput(/^server: \d+$/m);
  try {
    // The link for the first admin, and nothing else.
    expect(shell.stderr()).toMatch(
      /^edge-control: no person can sign in yet; .*\n {2}http:\/\/127\.0\.0\.1:\d+\/#\/setup\?code=\S+\n$/,
    );
    const apiKey = /^ek_\S+$/m.exec(shell.stdout())?.[0] ?? "no key";
    const url = `http://127.0.0.1:${port}`;
    const asset = await apiClient({ url }, { apiKey }).get("/v1/assets/GW-0001");
    expect(asset).toMatchObject({ status: 200, body: { serial_number: "GW-0001" } });
    const deviceToken = /^ed_\S+$/m.exec(shell.stdout())?.[0] ?? "no token";
    await using _welcomed = await FakeDevice.connect(`ws://127.0.0.1:${port}/v1/agent`, deviceToken);
    expect((await readdir(folder.path)).toSorted()).toEqual(["bin", "dist", "edge-control.log", "var"]);
  } finally {
    stop(Number(/^server: (\d+)$/m.exec(shell.stdout())?.[1]));
    await shell.exited;
  }
});
