import { execFile } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { basename } from "node:path";
import { promisify } from "node:util";
import { pack } from "tar-stream";
import { expect, it } from "vitest";
import { VERSION } from "../../../src/lib/version.ts";
import { run, succeed } from "../../support/command.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { engineRequest, removeImage, uniqueName } from "../../support/images.ts";
import { tempDir } from "../../support/temp-dir.ts";

/** A system with nothing but a C library and the two programs the launcher needs. */
async function smallestBase(): Promise<Buffer> {
  const base = pack();
  base.entry({ name: "bin/busybox", mode: 0o755 }, await readFile("/bin/busybox"));
  for (const applet of ["sh", "readlink"]) base.entry({ name: `bin/${applet}`, type: "symlink", linkname: "busybox" });
  const { stdout } = await promisify(execFile)("ldd", ["dist/node"]);
  const libraries = [...stdout.matchAll(/(\/\S+) \(/g)].map(([, path = ""]) => path);
  const shipped = await readdir("dist/lib");
  for (const path of libraries.filter((library) => !shipped.includes(basename(library)))) {
    base.entry({ name: path.slice(1), mode: 0o755 }, await readFile(path));
  }
  base.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of base) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

it("the Dockerfile makes an image of the agent on a base without anything, without a network", async ({ skip }) => {
  const socket = await dockerSocket();
  if (socket === undefined) return skip("no Docker engine answers");
  const [base, image] = [uniqueName("base"), uniqueName("agent")];
  await using images = new AsyncDisposableStack();
  for (const name of [base, image]) images.defer(() => removeImage(socket, `${name}:latest`));
  await using folder = await tempDir();

  const headers = { "Content-Type": "application/x-tar" };
  const path = `/images/create?fromSrc=-&repo=${base}&tag=latest`;
  const imported = await engineRequest(socket, "POST", path, { headers, body: await smallestBase() });
  expect(imported.status, imported.body).toBe(200);
  const env = { DOCKER_BUILDKIT: "0", DOCKER_CONFIG: folder.path };
  const build = ["build", "--network", "none", "--build-arg", `BASE=${base}:latest`, "--tag", image, "."];
  await succeed("docker", build, { env, timeoutMs: 120_000 });

  const version = await run("docker", ["run", "--rm", "--network", "none", image, "--version"], { env });
  expect(version).toMatchObject({ code: 0, stdout: `${VERSION}\n` });
  const withoutConfig = await run("docker", ["run", "--rm", "--network", "none", image], { env });
  expect(withoutConfig.code).not.toBe(0);
  expect(withoutConfig.stdout + withoutConfig.stderr).toContain("/etc/edge-agent/config.json");
});
