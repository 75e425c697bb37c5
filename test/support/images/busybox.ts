import { readFile } from "node:fs/promises";
import { fileLayer, type Layer } from "./image.ts";

/** Statically linked; from Debian's package busybox-static. */
const BUSYBOX = "/bin/busybox";

const made = new Map<string, Promise<Layer>>();

/** Returns a layer with a shell, these programs of busybox and a `/tmp` for everybody. Made once for a process. */
export function busyboxLayer(applets: readonly string[]): Promise<Layer> {
  const key = applets.join();
  const layer = made.get(key) ?? makeLayer(applets);
  made.set(key, layer);
  return layer;
}

async function makeLayer(applets: readonly string[]): Promise<Layer> {
  return await fileLayer([
    { path: "bin/", directory: true },
    { path: "tmp/", directory: true, mode: 0o1777 },
    { path: "bin/busybox", content: await readFile(BUSYBOX), mode: 0o755 },
    ...applets.map((applet) => ({ path: `bin/${applet}`, linkTo: "busybox" })),
  ]);
}
