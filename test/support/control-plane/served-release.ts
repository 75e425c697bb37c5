import { onTestFinished } from "vitest";
import { addRelease } from "../../../src/control-plane/releases/add-release.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { digestOf } from "../../../src/lib/release/read-release.ts";
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from "../control-plane.ts";
import { tempDir } from "../temp-dir.ts";
import { type SomeRelease, someRelease } from "../updates/some-release.ts";
import { someAudit } from "./people.ts";

/** Where blobs and manifests of releases are. */
export const BLOBS = "/v2/edge-agent/blobs";
export const MANIFESTS = "/v2/edge-agent/manifests";

/** Writes a release until the end of the test, and adds it to the store. */
export async function addSomeRelease(
  { agentReleases }: Pick<Store, "agentReleases">,
  version: string,
  layerBytes = 300_000,
): Promise<SomeRelease> {
  const directory = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  const release = await someRelease(directory.path, version, { layerBytes });
  await addRelease({
    store: agentReleases,
    folder: release.layout,
    keys: [release.publicKey],
    now: 1,
    auditOf: () => someAudit("agent_release.added", ""),
  });
  return release;
}

export interface ServedRelease {
  readonly control: ControlPlane;
  readonly release: SomeRelease;
  /** Of its index. */
  readonly digest: string;
  readonly layer: Uint8Array;
  /** Path of the layer for arm64. */
  readonly layerPath: string;
  /** Of a device. */
  readonly token: string;
  /** Sends a request of the device. */
  readonly get: (path: string, headers?: Readonly<Record<string, string>>, method?: string) => Promise<Response>;
}

/** A service with release 1.5.0, and a device, until the end of the test. */
export async function serveRelease(options: ControlPlaneOptions = {}, layerBytes?: number): Promise<ServedRelease> {
  const control = await startControlPlane(options);
  onTestFinished(() => control[Symbol.asyncDispose]());
  const release = await addSomeRelease(control.store, "1.5.0", layerBytes);
  const { deviceToken: token } = await control.asset(await control.account());
  const stored = await control.store.agentReleases.findRelease("1.5.0");
  const layer = release.layers["arm64"];
  if (!stored || !layer) throw new Error("the release was not added");
  return {
    control,
    release,
    digest: stored.digest,
    layer,
    layerPath: `${BLOBS}/${digestOf(layer)}`,
    token,
    get: async (path, headers = {}, method = "GET") => {
      return await fetch(`${control.url}${path}`, {
        method,
        headers: { Authorization: `Bearer ${token}`, ...headers },
      });
    },
  };
}

export async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer());
}
