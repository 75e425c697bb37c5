import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { chmodSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { type ReleaseContent, writeReleaseLayout } from "../../../scripts/packaging/release-layout.ts";
import { type LayerRecord, toLayersFile } from "../../../src/lib/release/held-layers.ts";
import { type UpdateAnswer } from "../../../src/lib/release/messages.ts";
import { LAYERS_FILE } from "../../../src/lib/release/paths.ts";
import { digestOf } from "../../../src/lib/release/read-release.ts";
import { type ReleasesState, readReleases } from "../../../src/lib/release/releases-state.ts";
import { type Disk, nodeDisk } from "../../../src/updater/disk.ts";
import { handleRequest } from "../../../src/updater/updater.ts";
import { run } from "../command.ts";
import { tempDir } from "../temp-dir.ts";
import { tarOf, type TarEntry } from "./raw-tar.ts";

export const PACKAGE_VERSION = "1.0.0";
const SCRIPTS = ["launcher", "select-release", "release-trial", "postinst", "prerm", "postrm"];
/** What releases have in common with the package. */
export const RUNTIME: readonly TarEntry[] = [
  { path: "lib/", type: "5", mode: 0o755 },
  { path: "node", mode: 0o755, content: "#!/bin/sh\n" },
  { path: "lib/library.so.1", content: "library" },
];
const programOf = (version: string): TarEntry[] => [
  { path: "edge-agent", mode: 0o755, content: `#!/bin/sh\n# ${version}\necho "\${0%/*} $*"\n` },
];

const SYSTEMCTL = 'if [ "$1" = is-active ]; then echo active; exit; fi\necho "$@" ';

interface ReleaseOptions extends Partial<Omit<ReleaseContent, "images">> {
  /** Of its one layer, in place of a runtime that the package has and a program. */
  readonly entries?: readonly TarEntry[];
  /** Entries of each layer. */
  readonly layers?: readonly (readonly TarEntry[])[];
  /** In place of the layer's own. */
  readonly unpackedBytes?: number;
  readonly architecture?: string;
  readonly layer?: Uint8Array;
}

/** The disk without flushes, which take most of the time beside other tests, and which nothing here can see. */
export const UNFLUSHED: Disk = {
  ...nodeDisk,
  create: (path, mode) => ({ ...nodeDisk.create(path, mode), sync: () => undefined }),
  rename: renameSync,
  sync: () => undefined,
};

function recordOf(entries: readonly TarEntry[]): LayerRecord {
  const files = entries.flatMap(({ path, type, content = "" }) =>
    type === "5" ? [] : [{ path, digest: digestOf(Buffer.from(content)) }],
  );
  return { diffId: digestOf(tarOf(entries)), files };
}

/** The folders of a device as updater, launcher and agent see them, with the real scripts of the package. */
export class UpdateRig implements AsyncDisposable {
  readonly root: string;
  readonly key: KeyObject;
  readonly #owned: AsyncDisposable;

  private constructor(owned: AsyncDisposable & { readonly path: string }) {
    this.#owned = owned;
    this.root = owned.path;
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    this.key = privateKey;
    for (const folder of [
      "state/agent-update",
      "releases",
      "package/release-keys",
      "run/edge-agent-updates",
      "bin",
      "etc",
      "log",
    ])
      mkdirSync(join(this.root, folder), { recursive: true });
    writeFileSync(this.path("package/release-keys/own.pem"), publicKey.export({ type: "spki", format: "pem" }));
    writeFileSync(this.path("package/release.json"), JSON.stringify({ version: PACKAGE_VERSION, floor: "0.9.0" }));
    mkdirSync(this.path("package/lib"));
    for (const { path, content = "", type, mode } of [...RUNTIME, ...programOf(PACKAGE_VERSION)])
      if (type !== "5") writeFileSync(this.path("package", path), content, { mode: mode ?? 0o644 });
    writeFileSync(this.path("package", LAYERS_FILE), toLayersFile([recordOf(RUNTIME)]));
    writeFileSync(this.path("config.json"), "{}");
    writeFileSync(this.path("bin/systemctl"), `#!/bin/sh\n${SYSTEMCTL}>>${this.path("systemctl.log")}\n`, {
      mode: 0o755,
    });
    writeFileSync(this.path("bin/sync"), "#!/bin/sh\n", { mode: 0o755 });
    // The tests need no root.
    writeFileSync(this.path("bin/id"), "#!/bin/sh\necho 0\n", { mode: 0o755 });
    for (const name of SCRIPTS) {
      const script = readFileSync(join("packaging", name), "utf8");
      writeFileSync(this.path("package", name), this.#moved(script), { mode: 0o755 });
    }
  }

  static async create(): Promise<UpdateRig> {
    return new UpdateRig(await tempDir());
  }

  path(...names: readonly string[]): string {
    return join(this.root, ...names);
  }

  get state(): ReleasesState {
    return readReleases(this.path("releases"));
  }

  /** Writes a release, signed by the key that the device trusts unless said otherwise, and returns its layout. */
  async release(version: string, options: ReleaseOptions = {}): Promise<string> {
    const { entries, architecture = "amd64", layer, unpackedBytes, ...content } = options;
    const layers = options.layers ?? (entries ? [entries] : [RUNTIME, programOf(version)]);
    const image = {
      architecture,
      layers: layers.map((own) => ({
        archive: layer ?? zstdCompressSync(tarOf(own)),
        diffId: digestOf(tarOf(own)),
        unpackedBytes: unpackedBytes ?? own.reduce((sum, entry) => sum + (entry.content?.length ?? 0), 0),
      })),
    };
    const folder = this.path("layouts", version);
    rmSync(folder, { recursive: true, force: true });
    await writeReleaseLayout(folder, {
      version,
      floor: "0.9.0",
      oldestProtocol: 1,
      signedAt: "2026-11-28T00:00:00.000Z",
      key: this.key,
      keys: [createPublicKey(this.key)],
      ...content,
      images: [image],
    });
    return folder;
  }

  /** Puts a layout where the agent leaves it, and asks for it. */
  handOver(layout: string, request: object = {}): void {
    rmSync(this.path("state/agent-update/layout"), { recursive: true, force: true });
    cpSync(layout, this.path("state/agent-update/layout"), { recursive: true });
    this.ask({ action: "install", ...request });
  }

  ask(request: object): void {
    const path = this.path("state/agent-update/request.json");
    writeFileSync(path, JSON.stringify({ id: "1", ...request }));
    chmodSync(path, 0o600);
  }

  /** Runs the updater. */
  async handle(disk: Disk = UNFLUSHED): Promise<UpdateAnswer> {
    return await handleRequest({
      stateFolder: this.path("state"),
      releasesFolder: this.path("releases"),
      packageFolder: this.path("package"),
      configFile: this.path("config.json"),
      architecture: "amd64",
      owner: process.getuid?.() ?? 0,
      disk,
    });
  }

  async install(
    version: string,
    { request = {}, ...options }: ReleaseOptions & { readonly request?: object } = {},
  ): Promise<UpdateAnswer> {
    this.handOver(await this.release(version, options), request);
    return await this.handle();
  }

  async confirm(version: string): Promise<UpdateAnswer> {
    this.ask({ action: "confirm", version });
    return await this.handle();
  }

  /** Runs one of the package's scripts. */
  async script(name: string, ...args: readonly string[]): ReturnType<typeof run> {
    const env = { PATH: `${this.path("bin")}:${process.env["PATH"] ?? ""}` };
    return await run("sh", [this.path("package", name), ...args], { env });
  }

  /** Starts the service as its unit does, and returns the version that runs. */
  async start(): Promise<string> {
    await this.script("release-trial", "prepare");
    return await this.running();
  }

  /** The version that the launcher starts. */
  async running(): Promise<string> {
    const { stdout } = await this.script("launcher", "run");
    const folder = stdout.split(" ")[0]?.trim() ?? "";
    return folder === this.path("package") ? "package" : folder.replace(`${this.path("releases")}/`, "");
  }

  #moved(script: string): string {
    return script
      .replaceAll("/usr/lib/edge-agent", this.path("package"))
      .replaceAll("/var/lib/edge-agent-releases", this.path("releases"))
      .replaceAll("/var/lib/edge-agent", this.path("state"))
      .replaceAll("/var/log/edge-agent", this.path("log"))
      .replaceAll("/etc/edge-agent", this.path("etc"))
      .replaceAll("/usr/lib/systemd", this.path("systemd"))
      .replaceAll("/run/edge-agent-updates", this.path("run/edge-agent-updates"));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.#owned[Symbol.asyncDispose]());
  }
}
