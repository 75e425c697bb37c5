import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type DeviceEngine, devicesUnavailableReason, startDeviceEngine } from "../../support/device/device-engine.ts";
import { TestBackend } from "../../support/device/test-backend.ts";
import { testPackage } from "../../support/device/test-package.ts";
import { type EdgectlUser, edgectlUser } from "../../support/edgectl/process.ts";
import { webImage } from "../../support/images.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { type TestReleaseOptions, writeTestRelease } from "../../support/updates/test-release.ts";

export const APP = "web";

/** A change of a device's connection, as the control plane has logged it. */
export interface LinkChange {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly isOnline: boolean;
}

/** A time without a connection. */
export interface Absence {
  readonly from: number;
  readonly until: number;
}

/** What devices are installed from and connect to: an engine that runs them, a control plane, a registry, a package, releases. */
export class Site implements AsyncDisposable {
  readonly engine: DeviceEngine;
  readonly backend: TestBackend;
  readonly edgectl: EdgectlUser;
  /** Folder of releases and packages. */
  readonly folder: string;
  /** Of the one who signs releases. */
  readonly key: KeyObject;
  /** The package of this build, which trusts the key. */
  readonly deb: string;
  /** The app's image, with its digest. */
  readonly image: string;
  readonly #owned: AsyncDisposableStack;

  private constructor(parts: Parts, owned: AsyncDisposableStack) {
    this.engine = parts.engine;
    this.backend = parts.backend;
    this.edgectl = parts.edgectl;
    this.folder = parts.folder;
    this.key = parts.key;
    this.deb = parts.deb;
    this.image = parts.image;
    this.#owned = owned;
  }

  /** @param name unique for each benchmark. Rejects where devices cannot be started. */
  static async start(name: string): Promise<Site> {
    const missing = await devicesUnavailableReason();
    if (missing !== undefined) throw new Error(`devices cannot be started here: ${missing}`);
    await using owned = new AsyncDisposableStack();
    const folder = owned.use(await tempDir()).path;
    const { privateKey: key } = generateKeyPairSync("ed25519");
    const deb = await testPackage(folder, { compression: "none", trustedKeys: [createPublicKey(key)] });
    const engine = owned.use(await startDeviceEngine(name));
    const backend = owned.use(await TestBackend.start(engine.hostAddress));
    const edgectl = owned.use(await edgectlUser());
    await backend.registry.push(await webImage(), "team/web:1");
    const image = `${backend.registryHost}/team/web@${await backend.registry.digest("team/web:1")}`;
    return new Site({ engine, backend, edgectl, folder, key, deb, image }, owned.move());
  }

  /** Writes a release, or one that is broken, which the service then serves. */
  async serveRelease(version: string, broken: Pick<TestReleaseOptions, "script" | "fault"> = {}): Promise<void> {
    await this.serve(await writeTestRelease({ folder: this.folder, key: this.key, version, ...broken }));
  }

  /** Gives the service a release to serve. */
  async serve(layout: string): Promise<void> {
    const signer = join(this.folder, "signer.pem");
    await writeFile(signer, createPublicKey(this.key).export({ type: "spki", format: "pem" }));
    await this.backend.control.administer("agent-release", "add", layout, "--key", signer);
  }

  /** Runs edgectl as an operator. */
  async operate(...args: readonly string[]): ReturnType<EdgectlUser["run"]> {
    const env = { EDGECTL_URL: this.backend.control.url, EDGECTL_API_KEY: this.backend.apiKey };
    return await this.edgectl.run(args, { env });
  }

  /** When the asset's device came and went. */
  linkChanges(uuid: string): LinkChange[] {
    return this.backend.control
      .log()
      .filter(({ asset, msg }) => asset === uuid && (msg === "device online" || msg === "device offline"))
      .map(({ time, msg }) => ({ at: Date.parse(String(time)), isOnline: msg === "device online" }));
  }

  /** The times after `since`, in milliseconds since the epoch, in which the asset's device was away and came back. */
  absences(uuid: string, since: number): Absence[] {
    const changes = this.linkChanges(uuid).filter(({ at }) => at >= since);
    return changes.flatMap(({ at: from, isOnline }, index) => {
      const back = isOnline ? undefined : changes.slice(index).find((change) => change.isOnline);
      return back ? [{ from, until: back.at }] : [];
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}

type Parts = Pick<Site, "engine" | "backend" | "edgectl" | "folder" | "key" | "deb" | "image">;
