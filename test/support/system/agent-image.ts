import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { basename } from "node:path";
import { promisify } from "node:util";
import { pack } from "tar-stream";
import { succeed } from "../command.ts";
import { documented, fill } from "../documentation.ts";
import { engineRequest, type LoadedImage, removeImage, uniqueName } from "../images.ts";
import { tempDir } from "../temp-dir.ts";

/** Builds the agent's image from the Dockerfile and dist/ on a minimal base, without network access. */
export function agentImage(socket: string): Promise<LoadedImage> {
  // As documented, but for the tag and the base; dist/ is there.
  const documentedBuild = documented("docs/install.md", "As a container");
  const command = fill(documentedBuild, { "npm run build && docker ": "", " --tag edge-agent .": "" });
  return buildOnSmallestBase(socket, command, "agent");
}

/** Builds the control plane's image in the same way. */
export function controlPlaneImage(socket: string): Promise<LoadedImage> {
  return buildOnSmallestBase(socket, "build --file packaging/recipes/Dockerfile", "control");
}

async function buildOnSmallestBase(socket: string, command: string, label: string): Promise<LoadedImage> {
  const [base, image] = [uniqueName("base"), uniqueName(label)];
  await using owned = new AsyncDisposableStack();
  for (const name of [base, image]) owned.defer(() => removeImage(socket, `${name}:latest`));
  const headers = { "Content-Type": "application/x-tar" };
  const path = `/images/create?fromSrc=-&repo=${base}&tag=latest`;
  const imported = await engineRequest(socket, "POST", path, { headers, body: await smallestBase() });
  if (imported.status !== 200)
    throw new Error(`the engine did not import the base image: ${imported.status} ${imported.body}`);
  await using folder = await tempDir();
  const env = { DOCKER_BUILDKIT: "0", DOCKER_CONFIG: folder.path };
  const build = [...command.split(" "), "--network", "none", "--build-arg", `BASE=${base}:latest`, "--tag", image, "."];
  await succeed("docker", ["--host", `unix://${socket}`, ...build], { env });
  const kept = owned.move();
  return { reference: `${image}:latest`, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** A root file system with only a C library and the two programs the launcher needs. */
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
