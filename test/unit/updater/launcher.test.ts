import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { versionToStart } from "../../../src/lib/release/releases-state.ts";
import { UpdateRig } from "../../support/updates/update-rig.ts";

describe("the launcher and release-trial, as the package has them", () => {
  let rig: UpdateRig;
  beforeEach(async () => {
    rig = await UpdateRig.create();
  });
  afterEach(() => rig[Symbol.asyncDispose]());

  const systemctl = (): string[] => {
    const path = rig.path("systemctl.log");
    const lines = existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
    rmSync(path, { force: true });
    return lines;
  };
  const onTrial = async (version: string): Promise<void> =>
    expect(await rig.install(version)).toMatchObject({ ok: true });

  it("a release is confirmed, and a later one that crashes is set aside after three starts", async () => {
    expect(await rig.start()).toBe("package");
    await onTrial("1.1.0");
    expect(await rig.start()).toBe("1.1.0");
    expect(await rig.confirm("1.1.0")).toMatchObject({ ok: true });
    expect(rig.state).toMatchObject({ current: "1.1.0", trial: undefined });
    await onTrial("1.2.0");
    for (const starts of [1, 2, 3]) {
      expect(await rig.start()).toBe("1.2.0");
      expect(rig.state.trial?.starts).toBe(starts);
    }
    expect(await rig.start()).toBe("1.1.0");
    expect(rig.state).toMatchObject({
      trial: undefined,
      setAside: new Map([["1.2.0", { attempt: 1, reason: "crashed" }]]),
    });
    // The one that was set aside is not tried again by itself, but when a person asks.
    expect(await rig.install("1.2.0")).toMatchObject({ ok: false, code: "set_aside" });
    expect(await rig.install("1.2.0", { request: { again: true } })).toMatchObject({ ok: true });
    expect(rig.state.trial).toMatchObject({ version: "1.2.0", starts: 0, attempt: 2 });
  });

  it("a trial whose time is over goes back, and the service is restarted with the version before", async () => {
    writeFileSync(rig.path("config.json"), JSON.stringify({ agent_updates: { trial_s: 90 } }));
    await rig.start();
    await onTrial("1.1.0");
    systemctl();
    await rig.script("release-trial", "apply");
    expect(systemctl()).toEqual(["--no-block start edge-agent-trial.timer", "--no-block restart edge-agent.service"]);
    await rig.start();
    await rig.script("release-trial", "apply");
    expect(systemctl().filter((line) => line.includes("restart"))).toEqual([]);
    for (const ticks of [1, 2]) {
      await rig.script("release-trial", "tick");
      expect(rig.state.trial?.ticks).toBe(ticks);
    }
    await rig.script("release-trial", "tick");
    expect(rig.state.setAside).toEqual(new Map([["1.1.0", { attempt: 1, reason: "unconfirmed" }]]));
    await rig.script("release-trial", "apply");
    // In this order: after a kill in between, the next tick restarts the service.
    expect(systemctl()).toEqual(["--no-block restart edge-agent.service", "--no-block stop edge-agent-trial.timer"]);
    expect(await rig.start()).toBe("package");
  });

  it("commands use the version that root has decided to start, until the next start", async () => {
    await rig.start();
    await onTrial("1.1.0");
    expect(await rig.running()).toBe("package");
    await rig.start();
    expect(await rig.running()).toBe("1.1.0");
  });

  it("a pin wins over a trial and the current version, and a broken version does not keep it from being set", async () => {
    await onTrial("1.1.0");
    await rig.start();
    expect(await rig.script("launcher", "pin", "package")).toMatchObject({ code: 0 });
    expect(await rig.start()).toBe("package");
    expect(rig.state).toMatchObject({ pin: "package", trial: undefined });
    expect(await rig.install("1.2.0")).toMatchObject({ ok: false, code: "pinned" });
    expect(await rig.script("launcher", "pin", "1.1.0")).toMatchObject({ code: 0 });
    expect(await rig.start()).toBe("1.1.0");
    expect(await rig.script("launcher", "pin", "none")).toMatchObject({ code: 0 });
    expect(await rig.start()).toBe("package");
  });

  it.each(["9.9.9", "../package", "1.1.0/../1.1.0", "-rf", "$(id)"])(
    "a pin to %j, which is not there, is refused",
    async (name) => {
      await onTrial("1.1.0");
      expect(await rig.script("launcher", "pin", name)).toMatchObject({ code: 4 });
      expect(rig.state.pin).toBeUndefined();
    },
  );

  it("a pin to a version that is gone is none: a trial is still counted", async () => {
    await onTrial("1.1.0");
    writeFileSync(rig.path("releases/pin"), "1.0.9\n");
    for (let starts = 0; starts < 3; starts++) expect(await rig.start()).toBe("1.1.0");
    expect(await rig.start()).toBe("package");
  });

  it("counters that an earlier trial left count for nothing", async () => {
    await onTrial("1.1.0");
    writeFileSync(rig.path("releases/starts"), "1.0.5 3 1\n");
    writeFileSync(rig.path("releases/ticks"), "1.0.5 29 30\n");
    expect(await rig.start()).toBe("1.1.0");
    await rig.script("release-trial", "tick");
    expect(rig.state.trial).toMatchObject({ starts: 1, ticks: 1, maxTicks: 30 });
  });

  it.each(["", "\n", "1.1.0", "1.1.0 x y", "1.1.0 -1 -1", "\0\0\0", "1.1.0 1 1 1 1 $(touch /tmp/x)"])(
    "counters of %j, as a failing disk leaves them, keep nothing from starting or ending",
    async (content) => {
      await onTrial("1.1.0");
      writeFileSync(rig.path("releases/starts"), content);
      writeFileSync(rig.path("releases/ticks"), content);
      let starts = 0;
      while ((await rig.start()) === "1.1.0") expect(++starts).toBeLessThanOrEqual(3);
      expect(await rig.running()).toBe("package");
    },
  );

  it("a package that is as new as the releases takes over", async () => {
    await onTrial("1.1.0");
    await rig.start();
    await rig.confirm("1.1.0");
    const { Releases } = await import("../../../src/updater/releases.ts");
    const { nodeDisk } = await import("../../../src/updater/disk.ts");
    const releases = new Releases(rig.path("releases"), nodeDisk);
    releases.preferPackage("1.0.9");
    expect(await rig.start()).toBe("1.1.0");
    releases.preferPackage("1.1.0");
    expect(await rig.start()).toBe("package");
  });

  it("only the version on trial can confirm, once it has been started, and again after a lost answer", async () => {
    await onTrial("1.1.0");
    // Anyone with the agent's user can ask before the version has run at all.
    expect(await rig.confirm("1.1.0")).toMatchObject({ ok: false, code: "not_on_trial" });
    expect(await rig.start()).toBe("1.1.0");
    expect(await rig.confirm("1.2.0")).toMatchObject({ ok: false, code: "not_on_trial" });
    expect(await rig.confirm("1.1.0")).toMatchObject({ ok: true });
    expect(await rig.confirm("1.1.0")).toMatchObject({ ok: true });
    expect(await rig.install("1.1.0")).toMatchObject({ ok: false, code: "installed" });
  });

  it("at most two releases are kept beside the package", async () => {
    for (const version of ["1.1.0", "1.2.0", "1.3.0", "1.4.0"]) {
      await onTrial(version);
      expect(rig.state.installed.length).toBeLessThanOrEqual(2);
      await rig.start();
      await rig.confirm(version);
    }
    expect(rig.state.installed).toEqual(["1.3.0", "1.4.0"]);
  });

  it("agrees with what the agent shows about which version starts, whatever the folder holds", async () => {
    const name = fc.option(fc.constantFrom("1.1.0", "1.2.0", "../package", "package", "x", "1.2.0/..", ""), {
      nil: undefined,
    });
    const parts = fc.constantFrom("both", "no node", "nothing");
    await fc.assert(
      fc.asyncProperty(name, name, name, parts, parts, async (pin, trial, current, one, two) => {
        const releases = rig.path("releases");
        rmSync(releases, { recursive: true, force: true });
        mkdirSync(releases);
        for (const [version, has] of [
          ["1.1.0", one],
          ["1.2.0", two],
        ] as const) {
          if (has === "nothing") continue;
          mkdirSync(rig.path("releases", version));
          const script = readFileSync(rig.path("package/edge-agent"));
          writeFileSync(rig.path("releases", version, "edge-agent"), script, { mode: 0o755 });
          if (has === "both") writeFileSync(rig.path("releases", version, "node"), "", { mode: 0o755 });
        }
        if (pin !== undefined) writeFileSync(rig.path("releases/pin"), `${pin}\n`);
        for (const [link, target] of [
          ["trial", trial],
          ["current", current],
        ] as const)
          if (target !== undefined && target !== "") symlinkSync(target, rig.path("releases", link));
        rmSync(rig.path("run/edge-agent-updates/program"), { force: true });
        const shown = versionToStart(releases, rig.state);
        expect(await rig.running()).toBe(versionToStart(releases, { ...rig.state, trial: undefined }));
        expect(await rig.start()).toBe(shown);
      }),
      { numRuns: 40 },
    );
  });

  it("the scripts are of the plain shell", () => {
    for (const name of ["launcher", "select-release", "release-trial"]) execFileSync("sh", ["-n", `packaging/${name}`]);
  });
});
