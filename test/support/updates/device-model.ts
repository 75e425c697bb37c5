import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type ReleasesState, versionToStart } from "../../../src/lib/release/releases-state.ts";
import type { Disk, NewFile } from "../../../src/updater/disk.ts";
import { Releases } from "../../../src/updater/releases.ts";
import { run } from "../command.ts";
import { UNFLUSHED, type UpdateRig } from "./update-rig.ts";

/** What the disk does to the changes of an event. */
export type DiskFault = "none" | "full" | "read-only";

export type DeviceEvent =
  | { readonly type: "prepare" | "tick" }
  | { readonly type: "pin"; readonly to: string }
  | { readonly type: "install" | "confirm"; readonly version: string }
  | { readonly type: "upgrade"; readonly version: string };

/** What is on the device's disk, and what root has decided since it was switched on. */
export interface DeviceState {
  readonly disk: string;
  readonly decision: string | undefined;
  /** The version whose trial is over although the disk does not say so. */
  readonly over?: string | undefined;
}

export interface Played extends DeviceState {
  /** Whether the power was cut before the event was over. */
  readonly wasCut: boolean;
}

interface Look {
  readonly releases: ReleasesState;
  readonly next: string;
}

/** In place of what root decided before an event, which changes nothing about the event. */
const UNCHANGED = "as before";

/** The process has ended, or the power was cut: nothing more is written. */
class Killed extends Error {}

/**
 * Plays what root does on a device with the package's scripts and the updater as they are, each with a power cut before
 * any of its changes of the disk. What happens depends on the state of the disk only, so each case is played once.
 */
export class DeviceModel {
  readonly #rig: UpdateRig;
  readonly #known = new Map<string, Played>();
  /** The changes of an event that is not cut. */
  readonly #changes = new Map<string, number>();
  readonly #looks = new Map<string, Look>();

  constructor(rig: UpdateRig) {
    this.#rig = rig;
    const script = readFileSync(rig.path("package/release-trial"), "utf8");
    writeFileSync(rig.path("package/release-trial-counted"), script.replace("\nset -u\n", `\nset -u\n${PRELUDE}`));
  }

  get cases(): number {
    return this.#known.size;
  }

  get empty(): DeviceState {
    return { disk: "[]", decision: undefined };
  }

  /** @param cut the change before which the power is cut; `undefined` for none */
  async play(state: DeviceState, event: DeviceEvent, cut: number | undefined, fault: DiskFault): Promise<Played> {
    const whole = JSON.stringify([state.disk, state.over, event, fault]);
    const changesOfWhole = this.#changes.get(whole) ?? Infinity;
    // A cut behind the last change is none.
    const key = JSON.stringify([whole, cut !== undefined && cut <= changesOfWhole ? cut : 0]);
    const known = this.#known.get(key);
    if (known) return known.decision === UNCHANGED ? { ...known, decision: state.decision } : known;
    this.#load({ ...state, decision: UNCHANGED });
    const changes = await this.#carryOut(event, cut, fault);
    const wasCut = cut !== undefined && changes >= cut;
    if (!wasCut) this.#changes.set(whole, changes);
    // What was written and not flushed may be incomplete.
    const unflushed = this.#rig.path("releases/.new");
    if (wasCut && existsSync(unflushed)) writeFileSync(unflushed, readFileSync(unflushed).subarray(0, 3));
    const played = { ...this.#save(), wasCut, ...(wasCut && { decision: undefined, over: undefined }) };
    this.#known.set(key, played);
    return played.decision === UNCHANGED ? { ...played, decision: state.decision } : played;
  }

  /** What the disk says, and the version that starts next. */
  look({ disk }: Pick<DeviceState, "disk">): Look {
    let look = this.#looks.get(disk);
    if (!look) {
      this.#load({ disk, decision: undefined });
      look = { releases: this.#rig.state, next: versionToStart(this.#rig.path("releases"), this.#rig.state) };
      this.#looks.set(disk, look);
    }
    return look;
  }

  async #carryOut(event: DeviceEvent, cut: number | undefined, fault: DiskFault): Promise<number> {
    const rig = this.#rig;
    switch (event.type) {
      case "prepare":
      case "tick":
        return await this.#script(cut, fault, event.type);
      case "pin":
        return await this.#script(cut, fault, "pin", event.to);
      case "install":
        rig.handOver(rig.path("layouts", event.version), { again: true, deployment: "dep_1" });
        return await this.#inProcess(cut, fault, (disk) => rig.handle(disk));
      case "confirm":
        rig.ask({ action: "confirm", version: event.version });
        return await this.#inProcess(cut, fault, (disk) => rig.handle(disk));
      case "upgrade":
        return await this.#inProcess(cut, fault, async (disk) =>
          new Releases(rig.path("releases"), disk).preferPackage(event.version),
        );
    }
  }

  async #script(cut: number | undefined, fault: DiskFault, ...args: readonly string[]): Promise<number> {
    const control = this.#rig.path("control");
    writeFileSync(control, "0\n");
    const env = { CONTROL: control, CUT: String(cut ?? 0), FAULT: fault };
    const script = this.#rig.path("package/release-trial-counted");
    const { stderr } = await run("sh", [script, ...args], { env });
    // Errors of a command are one thing; one of the shell would mean that it was not played as it is.
    expect(stderr).not.toMatch(/not found|[Ss]yntax|parameter not set/);
    return Number(readFileSync(control, "utf8"));
  }

  async #inProcess(cut: number | undefined, fault: DiskFault, work: (disk: Disk) => Promise<unknown>): Promise<number> {
    let changes = 0;
    const change = (): void => {
      changes++;
      if (cut !== undefined && changes >= cut) throw new Killed();
      if (fault !== "none") throw Object.assign(new Error("no space left"), { code: "ENOSPC", syscall: "write" });
    };
    const guarded = <T extends object>(target: T, isChange: (name: string) => boolean): T =>
      new Proxy(target, {
        get(object, name) {
          const value = Reflect.get(object, name) as unknown;
          if (typeof value !== "function" || typeof name !== "string" || !isChange(name)) return value;
          return (...args: unknown[]): unknown => {
            // Removing needs no space.
            if (!(name === "remove" && fault === "full")) change();
            const result = (value as (...all: unknown[]) => unknown).apply(object, args);
            return name === "create" ? guarded(result as NewFile, () => true) : result;
          };
        },
      });
    await work(guarded(UNFLUSHED, (name) => name !== "freeBytes")).catch((error: unknown) => {
      if (!(error instanceof Killed) && fault === "none") throw error;
    });
    return changes;
  }

  #load({ disk, decision, over }: DeviceState): void {
    const folder = this.#rig.path("releases");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    for (const [path, kind, content, mode] of JSON.parse(disk) as Entry[]) {
      const target = join(folder, path);
      if (kind === "folder") mkdirSync(target);
      else if (kind === "link") symlinkSync(content, target);
      else {
        writeFileSync(target, content);
        chmodSync(target, mode);
      }
    }
    const file = this.#rig.path("run/edge-agent-updates/program");
    rmSync(file, { force: true });
    if (decision !== undefined) writeFileSync(file, decision);
    rmSync(this.#over, { force: true });
    if (over !== undefined) writeFileSync(this.#over, over);
  }

  #save(): DeviceState {
    const folder = this.#rig.path("releases");
    const entries = pathsBelow(folder)
      // The answer decides nothing.
      .filter((path) => path !== "answer.json")
      .map((path): Entry => {
        const target = join(folder, path);
        const stats = lstatSync(target);
        if (stats.isDirectory()) return [path, "folder", "", 0];
        if (stats.isSymbolicLink()) return [path, "link", readlinkSync(target), 0];
        return [path, "file", readFileSync(target, "utf8"), stats.mode & 0o777];
      });
    const file = this.#rig.path("run/edge-agent-updates/program");
    return { disk: JSON.stringify(entries), decision: textOf(file), over: textOf(this.#over) };
  }

  get #over(): string {
    return this.#rig.path("run/edge-agent-updates/trial-over");
  }
}

function textOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

/** Follows no links. */
function pathsBelow(folder: string, prefix = ""): string[] {
  return readdirSync(join(folder, prefix), { withFileTypes: true })
    .toSorted((a, b) => a.name.localeCompare(b.name))
    .flatMap((entry) => {
      const path = join(prefix, entry.name);
      return entry.isDirectory() ? [path].concat(pathsBelow(folder, path)) : [path];
    });
}

type Entry = readonly [path: string, kind: "folder" | "link" | "file", content: string, mode: number];

/**
 * Stands before the script: commands that change the disk count, kill the script before the one at its cut, and fail where
 * the disk does. Without processes of their own, and without flushes, which nothing here can see.
 */
const PRELUDE = `n=0
change() {
  n=$((n + 1))
  echo "$n" >"$CONTROL"
  if [ "$n" = "$CUT" ]; then kill -KILL $$; fi
  case $FAULT-$1 in full-rm | none-*) return 0 ;; esac
  return 1
}
sync() { change sync; }
mv() { change mv && command mv "$@"; }
rm() { case "$*" in *"$runtime"*) ;; *) change rm || return ;; esac; command rm "$@"; }
mkdir() { change mkdir && command mkdir "$@"; }
flock() { :; }
systemctl() { :; }
`;
