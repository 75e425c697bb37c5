import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  containerIdOf,
  parseMountinfo,
  locateFile,
  findPrivateMount,
} from "../../../src/agent/core/policy/mountinfo.ts";
import { run, succeed } from "../../support/command.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { engineRequest, loadImage, sleeperImage, uniqueName } from "../../support/images.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const canUnshare = (await run("unshare", ["--mount", "true"]).catch(() => ({ code: 1 }))).code === 0;
const socket = await dockerSocket();

test.skipIf(!canUnshare)("mounts of the service are distinguished from those of the host", async () => {
  const { path, ...directory } = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]?.());
  for (const name of ["private", "real", "alias"]) await mkdir(join(path, name));
  // As a service manager does: the service receives the host's mounts and adds its own.
  const service = `mount --make-rshared / && mount -t tmpfs own ${path}/private && cat /proc/self/mountinfo`;
  const machine = [
    "mount --make-rshared /",
    `mount --bind ${path}/real ${path}/alias`,
    `unshare --mount --propagation slave sh -c "${service}"`,
    // The host namespace outlives the service.
    "true",
  ].join(" && ");
  const mounts = parseMountinfo(await succeed("unshare", ["--mount", "--propagation", "private", "sh", "-c", machine]));
  expect(findPrivateMount(join(path, "private", "x"), mounts)).toBe(join(path, "private"));
  expect(findPrivateMount(join(path, "alias", "x"), mounts)).toBeUndefined();
  expect(findPrivateMount(path, mounts)).toBeUndefined();
  expect(locateFile(join(path, "alias", "x"), mounts)).toBe(locateFile(join(path, "real", "x"), mounts));
});

test.skipIf(socket === undefined)("an agent in a container of the engine identifies its container", async () => {
  const engine = socket ?? "";
  await using image = await loadImage(engine, await sleeperImage());
  const HostConfig = { NetworkMode: "host" };
  const body = JSON.stringify({
    Image: image.reference,
    Cmd: ["/bin/cat", "/proc/self/mountinfo"],
    HostConfig,
    Tty: true,
  });
  const headers = { "Content-Type": "application/json" };
  const created = await engineRequest(engine, "POST", `/containers/create?name=${uniqueName("mounts")}`, {
    headers,
    body,
  });
  const { Id } = JSON.parse(created.body) as { Id: string };
  onTestFinished(async () => void (await engineRequest(engine, "DELETE", `/containers/${Id}?force=1`)));
  await engineRequest(engine, "POST", `/containers/${Id}/start`);
  const read = async (): Promise<string> =>
    (await engineRequest(engine, "GET", `/containers/${Id}/logs?stdout=1`)).body;
  await waitFor("its mounts", async () => (await read()).includes(" / / "));
  expect(containerIdOf(parseMountinfo(await read()))).toBe(Id);
});
