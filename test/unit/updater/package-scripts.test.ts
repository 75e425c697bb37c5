import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { run, start } from "../../support/command.ts";
import { UpdateRig } from "../../support/updates/update-rig.ts";

const PERMISSIONS = 0o777;

describe("what the package does as root", () => {
  let rig: UpdateRig;
  beforeEach(async () => {
    rig = await UpdateRig.create();
  });
  afterEach(() => rig[Symbol.asyncDispose]());

  const stub = (path: string, script: string): void =>
    writeFileSync(rig.path(path), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const lock = (): string => rig.path("run/edge-agent-updates/lock");
  /** Has the updater leave what it was called with. */
  const recordUpdater = (): (() => string | undefined) => {
    const path = rig.path("updater.log");
    stub("package/edge-agent-update", `echo "$@" >>${path}`);
    return () => (existsSync(path) ? readFileSync(path, "utf8").trim() : undefined);
  };

  /** Does what the agent's unit does before release-trial. */
  const mend = async (): Promise<void> => {
    const [, script = ""] =
      /^ExecStartPre=-\/bin\/sh -c "(.*)"$/m.exec(readFileSync("systemd/edge-agent.service", "utf8")) ?? [];
    expect(await run("sh", ["-c", script.replaceAll("%S/edge-agent", rig.path("state"))])).toMatchObject({
      code: 0,
      stderr: "",
    });
  };

  describe("the lock of the releases", () => {
    it.each([["prepare"], ["tick"], ["apply"], ["pin", "none"], ["update", "handle"]])(
      "can be opened by root alone, whatever makes it first: %s",
      async (...args) => {
        recordUpdater();
        expect(await rig.script("release-trial", ...args)).toMatchObject({ code: 0 });
        expect(statSync(lock()).mode & PERMISSIONS).toBe(0o600);
      },
    );

    it("lets one change of the releases happen at a time, and keeps no start from happening", async () => {
      const updater = recordUpdater();
      await rig.start();
      await using holder = start("flock", ["--no-fork", lock(), "sh", "-c", "echo held; exec sleep 1000"]);
      await holder.waitForOutput("held");
      // As it is, without the wait.
      stub("bin/flock", "exec /usr/bin/flock --nonblock 9");
      expect(await rig.script("release-trial", "update", "handle")).toMatchObject({ code: 1 });
      expect(updater()).toBeUndefined();
      expect(await rig.start()).toBe("package");
      holder.kill("SIGKILL");
      await holder.exited;
      expect(await rig.script("release-trial", "update", "handle")).toMatchObject({ code: 0 });
      expect(updater()).toBe("handle");
    });

    it("is taken in one place only", () => {
      const files = ["packaging", "systemd"].flatMap((folder) =>
        readdirSync(folder, { withFileTypes: true }).flatMap((file) =>
          file.isFile() ? [join(folder, file.name)] : [],
        ),
      );
      const locking = files.filter((path) => /\bflock\b/.test(readFileSync(path, "utf8")));
      expect(locking).toEqual(["packaging/release-trial"]);
    });
  });

  describe("a start of the agent mends what wakes the updater", () => {
    it("a request that is a link to itself is removed", async () => {
      symlinkSync("request.json", rig.path("state/agent-update/request.json"));
      await mend();
      expect(readdirSync(rig.path("state/agent-update"))).toEqual([]);
    });

    it.each([
      ["a file", (path: string): void => writeFileSync(path, "")],
      ["a link to itself", (path: string): void => symlinkSync("agent-update", path)],
    ])("%s in place of the folder of requests is removed", async (_, make) => {
      rmSync(rig.path("state/agent-update"), { recursive: true });
      make(rig.path("state/agent-update"));
      await mend();
      expect(readdirSync(rig.path("state"))).toEqual([]);
    });

    it("a request stays", async () => {
      rig.ask({ action: "confirm", version: "1.1.0" });
      await mend();
      expect(readdirSync(rig.path("state/agent-update"))).toEqual(["request.json"]);
    });

    it("the unit that has given up is started again", async () => {
      await rig.start();
      expect(readFileSync(rig.path("systemctl.log"), "utf8")).toContain("--no-block start edge-agent-update.path\n");
    });
  });

  describe("the end of a trial", () => {
    beforeEach(async () => {
      mkdirSync(rig.path("releases/log"));
      writeFileSync(rig.path("config.json"), JSON.stringify({ agent_updates: { trial_s: 30 } }));
      expect(await rig.install("1.1.0")).toMatchObject({ ok: true });
      await rig.start();
    });

    it("is recorded before the journal is read, which may be long and end in a kill", async () => {
      stub("bin/journalctl", `readlink ${rig.path("releases/trial")} >${rig.path("trial-meanwhile")}; echo words`);
      await rig.script("release-trial", "tick");
      expect(readFileSync(rig.path("trial-meanwhile"), "utf8")).toBe("");
      expect(readFileSync(rig.path("releases/log/1.1.0"), "utf8")).toBe("words\n");
    });

    it("is over with the next tick after a kill between its changes", async () => {
      mkdirSync(rig.path("releases/set-aside"));
      writeFileSync(rig.path("releases/set-aside/1.1.0"), "1 unconfirmed\n");
      writeFileSync(rig.path("releases/ticks"), "1.1.0 0 30\n");
      await rig.script("release-trial", "tick");
      expect(rig.state).toMatchObject({
        trial: undefined,
        setAside: new Map([["1.1.0", { attempt: 1, reason: "unconfirmed" }]]),
      });
    });

    describe("on a disk that has become read-only", () => {
      beforeEach(() => {
        for (const name of ["mv", "mkdir", "sync"]) stub(`bin/${name}`, "exit 1");
        // Only the disk: /run can be written.
        stub("bin/rm", `case "$*" in */edge-agent-updates/*) exec /bin/rm "$@" ;; esac; exit 1`);
      });

      it("lets the version before run, without a restart with each tick", async () => {
        expect(await rig.start()).toBe("package");
        rmSync(rig.path("systemctl.log"));
        for (let ticks = 0; ticks < 3; ticks++) {
          await rig.script("release-trial", "tick");
          await rig.script("release-trial", "apply");
        }
        expect(readFileSync(rig.path("systemctl.log"), "utf8")).not.toContain("restart");
        expect(await rig.running()).toBe("package");
        expect(await rig.start()).toBe("package");
      });

      it("is recorded once the disk can be written, and the version can be tried again", async () => {
        expect(await rig.start()).toBe("package");
        for (const name of ["mv", "mkdir", "rm"]) rmSync(rig.path("bin", name));
        stub("bin/sync", "");
        expect(await rig.start()).toBe("package");
        expect(rig.state).toMatchObject({
          trial: undefined,
          setAside: new Map([["1.1.0", { attempt: 1, reason: "unwritable" }]]),
        });
        expect(await rig.install("1.1.0", { request: { again: true } })).toMatchObject({ ok: true });
        await rig.script("release-trial", "apply");
        expect(await rig.start()).toBe("1.1.0");
      });
    });

    it.each(["edge-agent-trial", "edge-agent-update"])(
      "%s.service applies what is to run also after a failure",
      (unit) => {
        const lines = readFileSync(`systemd/${unit}.service`, "utf8").split("\n");
        expect(lines).toContain("ExecStopPost=+/usr/lib/edge-agent/release-trial apply");
      },
    );
  });

  describe("a removal", () => {
    beforeEach(() => {
      stub("package/node", "echo 'web (container web, running)'");
    });

    it("writes nothing where a link of the agent's user leads, and prints what stays", async () => {
      writeFileSync(rig.path("victim"), "root's");
      symlinkSync(rig.path("victim"), rig.path("state/left-behind"));
      expect(await rig.script("prerm", "remove")).toMatchObject({ code: 0 });
      expect(readFileSync(rig.path("victim"), "utf8")).toBe("root's");
      expect((await rig.script("postrm", "remove")).stdout).toContain("web (container web, running)");
    });

    it("is not kept by a pipe of the agent's user, and prints nothing that it wrote", async () => {
      execFileSync("mkfifo", [rig.path("state/left-behind")]);
      expect(await rig.script("prerm", "remove")).toMatchObject({ code: 0 });
      rmSync(rig.path("run/edge-agent-updates/left-behind"));
      rmSync(rig.path("state/left-behind"));
      writeFileSync(rig.path("state/left-behind"), "not the engine's");
      expect((await rig.script("postrm", "remove")).stdout).not.toContain("not the engine's");
    });
  });

  it("a package whose version cannot take the place of a release says so, and is not installed", async () => {
    for (const name of ["systemd-sysusers", "chown", "chmod", "install"]) stub(`bin/${name}`, "");
    stub("package/is-enrolled", "");
    const updater = recordUpdater();
    symlinkSync("1.1.0", rig.path("releases/current"));
    expect(await rig.script("postinst", "configure", "1.0.0")).toMatchObject({ code: 0 });
    expect(updater()).toBe("upgraded");
    stub("package/edge-agent-update", "exit 1");
    const { code, stderr } = await rig.script("postinst", "configure", "1.0.0");
    expect([code, stderr]).toEqual([1, expect.stringContaining("dpkg --configure edge-agent")]);
  });
});
