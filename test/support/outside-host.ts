import { randomInt } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { start, succeed } from "./command.ts";
import { tempDir } from "./temp-dir.ts";
import { uniqueName } from "./images.ts";

/** A host beyond this machine, as containers see it: one that they reach through the machine's own network. */
export interface OutsideHost extends AsyncDisposable {
  /** Of a page that says `outside`. */
  readonly url: string;
}

/** Makes a network namespace with a web server, behind a link of its own. Needs root. */
export async function outsideHost(): Promise<OutsideHost> {
  await using undo = new AsyncDisposableStack();
  const namespace = uniqueName("outside");
  const [link, peer] = [`eat${randomInt(1e8)}a`, `eat${randomInt(1e8)}b`];
  // Of the range for tests of networks.
  const subnet = `198.18.${randomInt(256)}`;
  const inside = ["netns", "exec", namespace];
  await succeed("ip", ["netns", "add", namespace]);
  // The link goes with it.
  undo.defer(async () => void (await succeed("ip", ["netns", "delete", namespace])));
  await succeed("ip", ["link", "add", link, "type", "veth", "peer", "name", peer, "netns", namespace]);
  await succeed("ip", ["address", "add", `${subnet}.1/24`, "dev", link]);
  await succeed("ip", ["link", "set", link, "up"]);
  await succeed("ip", [...inside, "ip", "address", "add", `${subnet}.2/24`, "dev", peer]);
  await succeed("ip", [...inside, "ip", "link", "set", peer, "up"]);
  const directory = undo.use(await tempDir());
  await writeFile(join(directory.path, "index.html"), "outside\n");
  const server = undo.use(
    start("ip", [...inside, "busybox", "httpd", "-f", "-p", `${subnet}.2:80`, "-h", directory.path]),
  );
  const url = `http://${subnet}.2/`;
  await server.waitUntil("the page to be served", async () => (await fetch(url).catch(() => undefined))?.ok === true);
  const all = undo.move();
  return { url, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
