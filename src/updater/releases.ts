import type { KeyObject } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type LayerRecord, toLayersFile } from "../lib/release/held-layers.ts";
import { DESCRIPTION, KEYS, LAYERS_FILE } from "../lib/release/paths.ts";
import { type ReleasesState, readReleases, type Trial, type TrialDeployment } from "../lib/release/releases-state.ts";
import { keyId } from "../lib/release/statement.ts";
import { compareVersions } from "../protocol/agents/version-order.ts";
import type { Disk } from "./disk.ts";

const UNPACKING = ".unpacking";
const REMOVING = ".removing";
const NEW = ".new-file";

interface NewTrial extends Pick<Trial, "attempt" | "maxTicks"> {
  /** The deployment that has asked for it. */
  readonly deployment: Omit<TrialDeployment, "version"> | undefined;
}

/**
 * The folder of releases, as the updater changes it. Every method leaves a state from which the launcher starts a version
 * that was confirmed, wherever it is killed, and can be called again after that.
 */
export class Releases {
  readonly folder: string;
  readonly #disk: Disk;

  constructor(folder: string, disk: Disk) {
    this.folder = folder;
    this.#disk = disk;
  }

  read(): ReleasesState {
    return readReleases(this.folder);
  }

  /** Removes what a kill has left, and versions that are neither current nor on trial nor pinned. */
  prune(): void {
    const { installed, current, trial, pin } = this.read();
    for (const name of [UNPACKING, REMOVING, NEW]) this.#disk.remove(this.#path(name));
    for (const version of installed) {
      if (version !== current && version !== trial?.version && version !== pin) this.#removeVersion(version);
    }
  }

  /**
   * Adds a version.
   *
   * @param description what `release.json` of the version says
   * @param keys of those who may sign what follows it
   * @param fill puts its layers into a new folder, with everything on stable storage
   */
  async add(
    description: { readonly version: string; readonly floor: string; readonly index: string },
    keys: readonly KeyObject[],
    fill: (folder: string) => Promise<readonly LayerRecord[]>,
  ): Promise<void> {
    const { version } = description;
    const folder = this.#path(UNPACKING);
    this.#disk.remove(folder);
    this.#disk.makeFolder(folder);
    const keysFolder = join(folder, KEYS);
    this.#disk.makeFolder(keysFolder);
    for (const key of keys)
      this.#write(join(keysFolder, `${keyId(key)}.pem`), key.export({ type: "spki", format: "pem" }));
    this.#disk.sync(keysFolder);
    this.#write(join(folder, LAYERS_FILE), toLayersFile(await fill(folder)));
    this.#write(join(folder, DESCRIPTION), JSON.stringify(description));
    this.#disk.sync(folder);
    if (this.read().installed.includes(version)) this.#removeVersion(version);
    this.#disk.rename(folder, this.#path(version));
  }

  /** Removes what was not added after all. */
  discard(): void {
    this.#disk.remove(this.#path(UNPACKING));
  }

  /** Puts a version on trial: from the next start of the agent on. */
  beginTrial(version: string, { attempt, maxTicks, deployment }: NewTrial): void {
    // Without the link, counters are of no trial.
    this.#replace("starts", `${version} 0 ${attempt}\n`);
    this.#replace("ticks", `${version} 0 ${maxTicks}\n`);
    // The version may damage the store that has the deployment, and cannot write here.
    if (deployment) this.#replace("deployment", `${version} ${deployment.id} ${deployment.request}\n`);
    else if (existsSync(this.#path("deployment"))) this.#disk.remove(this.#path("deployment"));
    if (this.read().setAside.has(version)) {
      this.#disk.remove(this.#path("set-aside", version));
      // Before the link: a trial whose version is set aside is over.
      this.#disk.sync(this.#path("set-aside"));
    }
    this.#disk.remove(this.#path(NEW));
    this.#disk.link(version, this.#path(NEW));
    this.#disk.rename(this.#path(NEW), this.#path("trial"));
  }

  /** Makes the version on trial the current one. One change, so that there is no moment with neither. */
  confirmTrial(version: string): void {
    this.#disk.rename(this.#path("trial"), this.#path("current"));
    for (const name of ["starts", "ticks"]) this.#disk.remove(this.#path(name));
    this.#disk.remove(this.#path("set-aside", version));
  }

  /** Ends a trial: the launcher starts the version before. The reason is recorded first, as `release-trial` does. */
  abandonTrial({ version, attempt }: Trial): void {
    if (!existsSync(this.#path("set-aside"))) this.#disk.makeFolder(this.#path("set-aside"));
    this.#replace(join("set-aside", version), `${attempt} cancelled\n`);
    this.#disk.remove(this.#path("trial"));
    this.#disk.sync(this.folder);
  }

  /** Has the launcher start the package's version in place of older ones. @param version the package's */
  preferPackage(version: string): void {
    const { current, trial } = this.read();
    const isNewer = (other: string | undefined): other is string =>
      other !== undefined && compareVersions(version, other) >= 0;
    if (isNewer(current)) this.#disk.remove(this.#path("current"));
    if (isNewer(trial?.version)) this.#disk.remove(this.#path("trial"));
    this.#disk.sync(this.folder);
  }

  /** Replaces a file: after a power cut it is the old or the new one. */
  #replace(name: string, content: string): void {
    const temporary = this.#path(NEW);
    this.#disk.remove(temporary);
    this.#write(temporary, content);
    this.#disk.rename(temporary, this.#path(name));
  }

  answer(name: string, content: string): void {
    this.#replace(name, content);
  }

  #write(path: string, content: string): void {
    using file = this.#disk.create(path, 0o644);
    file.write(Buffer.from(content));
    file.sync();
  }

  /** Renamed first: a folder with the name of a version is complete. */
  #removeVersion(version: string): void {
    this.#disk.remove(this.#path(REMOVING));
    this.#disk.rename(this.#path(version), this.#path(REMOVING));
    this.#disk.remove(this.#path(REMOVING));
  }

  #path(...names: readonly string[]): string {
    return join(this.folder, ...names);
  }
}
