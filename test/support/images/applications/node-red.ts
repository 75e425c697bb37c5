import { realpathSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { cached } from "../../cached.ts";
import { succeed } from "../../command.ts";
import { entriesBelow } from "../debian.ts";
import { fileLayer, type Image } from "../image.ts";
import { buildAppImage, ownDirectory } from "./debian-app.ts";

const USER = { name: "node-red", uid: 1000 };
const VERSION = "5.0.7";
const CACHE = ".cache/node-red";
const HOME = "usr/src/node-red";

/**
 * Node-RED from npm, laid out as the image `nodered/node-red`: user 1000, flows and settings in `/data`. Runs on this
 * project's own Node.js. Installed once and cached; without access to npm it must be in the cache.
 */
export async function nodeRedImage(): Promise<Image> {
  const modules = await entriesBelow(await installed());
  const node = realpathSync("node_modules/.bin/node");
  const program = await fileLayer([
    { path: "usr/local/bin/node", content: await readFile(node), mode: 0o755 },
    ...modules.map((entry) => Object.assign(entry, { path: `${HOME}/${entry.path}` })),
  ]);
  return await buildAppImage({
    user: USER,
    packages: ["libatomic1", "libc6", "libgcc-s1", "libstdc++6"],
    layers: [program],
    files: [ownDirectory(USER, "data")],
    config: {
      Entrypoint: ["/usr/local/bin/node", `/${HOME}/node_modules/node-red/red.js`, "--userDir", "/data"],
      ExposedPorts: { "1880/tcp": {} },
      Volumes: { "/data": {} },
    },
  });
}

/** Returns a directory with `node_modules`. */
function installed(): Promise<string> {
  return cached(CACHE, VERSION, (fresh) => {
    const options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", "--prefix", fresh];
    return succeed("npm", ["install", ...options, `node-red@${VERSION}`]);
  });
}
