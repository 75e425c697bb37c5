import { existsSync } from "node:fs";
import { lstat, mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DeploymentEvent } from "../../src/protocol/deployments/deployment-event.ts";
import { run } from "../support/command.ts";
import { freeHostPort } from "../support/free-port.ts";
import { engineRequest, sleeperImage, webImage, WEB_PORT } from "../support/images.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../support/private-engine.ts";
import type { AgentConfig } from "../support/system/agent.ts";
import { page } from "../support/system/app-page.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

const missing = await privateEngineUnavailableReason();
const SECRET = "nobody but the owner may read this";

/*
 * An app that may write to a directory replaces an entry with a symbolic link. Another app that mounts the entry would
 * see the link's target after its next start.
 */
describe.skipIf(missing !== undefined)(
  `paths that an app redirects${missing === undefined ? "" : ` (${missing})`}`,
  () => {
    let engine: PrivateEngine;
    const system = sharedSystem(async (owned) => {
      engine = owned.use(await PrivateEngine.start());
      return { engine };
    });

    /** The directory that the policy allows, and a secret outside of it. */
    let data: string;
    let secret: string;
    beforeEach(async () => {
      const directory = join(system().directory, system().name("case"));
      data = join(directory, "data");
      secret = join(directory, "secret");
      await mkdir(join(data, "sub"), { recursive: true });
      await mkdir(secret);
      await writeFile(join(secret, "token"), SECRET);
    });

    async function removeApps(): Promise<void> {
      const { stdout } = await run("dist/edge-agent", ["status", "--json", "--config", system().agent.configFile]);
      const { device } = JSON.parse(stdout) as { device: { apps: { name: string }[] } };
      const names = device.apps.map(({ name }) => name).filter((name) => !name.includes("sentinel"));
      for (const name of names) await system().finish(await system().change("DELETE", name));
    }

    // The next test's policy applies to remaining apps too.
    afterEach(() => removeApps());

    const onlyData = (): AgentConfig => ({ policy: { mounts: { allow: [data], deny: [] } } });
    const free: AgentConfig = {};

    /** Deploys an app that may write to a directory and runs `action` there when `letItAct` is called. */
    async function deployAttacker(action: string = `$b ln -s ${secret} /data/sub`) {
      const name = system().name("attacker");
      const image = await system().load(await sleeperImage());
      const script = [
        "b=/bin/busybox",
        "until test -e /data/go; do sleep 0.1; done",
        `$b mv /data/sub /data/was; ${action}`,
        "touch /data/done; exec sleep 2147483",
      ].join("\n");
      const volumes = [{ local: data, target: "/data" }];
      const { final } = await system().deploy({ name, image, volumes, command: ["/bin/sh", "-c", script] });
      return { name, final };
    }

    async function letItAct(): Promise<void> {
      await writeFile(join(data, "go"), "");
      await waitFor("the exchange", async () => (await run("test", ["-e", join(data, "done")])).code === 0);
    }

    /** Deploys an app that serves the files of its mount. */
    async function deployVictim(local: string = join(data, "sub")) {
      const name = system().name("victim");
      const port = await freeHostPort();
      const { final, deploymentId } = await system().deploy({
        name,
        image: await system().load(await webImage()),
        ports: [{ host_port: port, target_port: WEB_PORT }],
        volumes: [{ local, target: "/seen" }],
      });
      return { name, port, final, deploymentId };
    }

    type Victim = Awaited<ReturnType<typeof deployVictim>>;

    /** State of the app's container. */
    async function stateOf({ deploymentId }: Victim): Promise<string> {
      return (await system().containersOf(deploymentId))[0]?.State ?? "none";
    }

    /** What the app reads at the secret's path; empty if it does not run. */
    async function leakOf(victim: Victim): Promise<string> {
      if ((await stateOf(victim)) !== "running") return "";
      return await page(victim.port, "/cgi-bin/file?/seen/token");
    }

    /** All ways in which an app is started again. Each resolves when it has ended, successfully or not. */
    const RESTARTS = {
      restart: async ({ name }: Victim) => void (await system().finish(await system().change("POST", name, "restart"))),
      "stop and start": async ({ name }: Victim) => {
        for (const action of ["stop", "start"]) await system().finish(await system().change("POST", name, action));
      },
      "an update": async ({ name }: Victim) => {
        const environments = [{ key: "GREETING", value: "hello" }];
        await system().finish(await system().change("PATCH", name, undefined, { environments }));
      },
      "a repair by the reconciler": async ({ deploymentId }: Victim) => {
        for (const { Id } of await system().containersOf(deploymentId)) {
          await engineRequest(system().engineSocket, "DELETE", `/containers/${Id}?force=1`);
        }
        await lookAgain();
      },
      "a restart of the engine": async () => {
        await engine.stop();
        await engine.start();
        await lookAgain();
      },
    } satisfies Record<string, (victim: Victim) => Promise<void>>;

    let sentinel: string | undefined;

    /** Restarts the agent and waits until its reconciler has checked every app against the policy. */
    async function lookAgain(config?: AgentConfig): Promise<void> {
      sentinel ??= (
        await system().deploy({ name: system().name("sentinel"), image: await system().load(await sleeperImage()) })
      ).deploymentId;
      await system().agent.stop();
      for (const { Id } of await system().containersOf(sentinel)) {
        await engineRequest(system().engineSocket, "DELETE", `/containers/${Id}?force=1`);
      }
      await system().agent.restart(config);
      // An app without a container is repaired only after all apps were checked.
      const id = sentinel;
      const isBack = async (): Promise<boolean> => (await system().containersOf(id))[0]?.State === "running";
      await waitFor("the reconciler", isBack);
    }

    test("a path inside another app's writable mount, which it could redirect, is refused", async () => {
      await system().agent.restart(onlyData());
      expect((await deployAttacker()).final.status).toBe("Success");
      const victim = await deployVictim();
      await letItAct();
      expect(await leakOf(victim)).not.toContain(SECRET);
      expect(victim.final).toMatchObject({
        status: "Fail",
        code: "PolicyDenied",
        details: { rule: "policy.mounts" },
      });
      expect(victim.final.message).toContain("leads through");
    });

    test("no directory is made inside another app's writable mount", async () => {
      await system().agent.restart(onlyData());
      expect((await deployAttacker()).final.status).toBe("Success");
      const { final } = await deployVictim(join(data, "sub", "new"));
      expect(final).toMatchObject({ status: "Fail", code: "PolicyDenied", details: { rule: "policy.mounts" } });
      expect(existsSync(join(data, "sub", "new"))).toBe(false);
    });

    test("no directory is made where a link leads out of what the policy allows", async () => {
      await system().agent.restart(onlyData());
      await symlink(join(secret, "absent"), join(data, "broken"));
      for (const local of [join(data, "broken"), join(data, "broken", "below")]) {
        const { final } = await deployVictim(local);
        expect(final).toMatchObject({ status: "Fail", code: "PolicyDenied" });
      }
      await system().agent.restart(free);
      // Without restrictions: nothing takes the link's place either.
      const { final } = await deployVictim(join(data, "broken", "below"));
      expect(final).toMatchObject({ status: "Fail", code: "InvalidRequest" });
      expect(existsSync(join(secret, "absent"))).toBe(false);
      expect((await lstat(join(data, "broken"))).isSymbolicLink()).toBe(true);
    });

    // An app that was stopped on purpose is not started when the mount is allowed again: last, and by itself.
    test.for<(keyof typeof RESTARTS)[]>([
      ["restart", "an update", "a repair by the reconciler", "a restart of the engine"],
      ["stop and start"],
    ])("a path redirected before the policy was tightened reveals nothing after %j", async (ways) => {
      await system().agent.restart(free);
      const attacker = await deployAttacker();
      const victim = await deployVictim();
      expect(victim.final.status).toBe("Success");
      await letItAct();
      await system().finish(await system().change("POST", victim.name, "restart"));
      // Without restrictions, the app sees the target.
      expect(await leakOf(victim)).toContain(SECRET);
      await lookAgain(onlyData());
      expect(await stateOf(victim)).not.toBe("running");
      for (const how of ways) {
        await RESTARTS[how](victim);
        expect(await leakOf(victim), how).toBe("");
        expect(await explanation(victim.name), how).toContain("The device's policy forbids it");
        const { state, trouble } = await inStatus(victim.name);
        expect(state, how).toBe("stopped");
        // An app that was stopped on purpose reports no trouble.
        if (how !== "stop and start") expect(trouble, how).toContain("policy forbids it");
      }
      // The attacker is removed and the directory restored: the mount is allowed.
      await system().finish(await system().change("DELETE", attacker.name));
      await rm(join(data, "sub"));
      await rename(join(data, "was"), join(data, "sub"));
      await lookAgain();
      if (ways.includes("stop and start")) {
        expect(await runningOf(victim.name)).toBe(0);
        await system().finish(await system().change("POST", victim.name, "start"));
      }
      await waitFor("the app to run by itself", async () => (await runningOf(victim.name)) === 1);
      expect(await explanation(victim.name)).not.toContain("forbids");
    });

    async function runningOf(name: string): Promise<number> {
      const { body } = await engineRequest(system().engineSocket, "GET", "/containers/json");
      const all = JSON.parse(body) as { readonly Names: readonly string[] }[];
      return all.filter(({ Names }) => Names.includes(`/${name}`)).length;
    }

    async function explanation(name: string): Promise<string> {
      return (await run("dist/edge-agent", ["app", name, "--config", system().agent.configFile])).stdout.replaceAll(
        /\s+/g,
        " ",
      );
    }

    async function inStatus(name: string): Promise<{ readonly state: string; readonly trouble: string | null }> {
      const { stdout } = await run("dist/edge-agent", ["status", "--json", "--config", system().agent.configFile]);
      const { device } = JSON.parse(stdout) as {
        device: { apps: { name: string; state: string; trouble: string | null }[] };
      };
      const found = device.apps.find((app) => app.name === name);
      if (!found) throw new Error(`${name} is not in ${stdout}`);
      return found;
    }

    test("a link that was replaced before the policy was tightened and then hidden reveals nothing", async () => {
      await system().agent.restart(free);
      const attacker = await deployAttacker(`$b ln -s ${secret} /data/sub`);
      const victim = await deployVictim();
      await letItAct();
      await system().finish(await system().change("POST", victim.name, "restart"));
      expect(await leakOf(victim)).toContain(SECRET);
      await system().finish(await system().change("DELETE", attacker.name));
      await rm(join(data, "sub"));
      await rename(join(data, "was"), join(data, "sub"));
      expect(await leakOf(victim)).toContain(SECRET);
      await lookAgain(onlyData());
      await waitFor("the app to run", async () => (await stateOf(victim)) === "running");
      expect(await leakOf(victim)).not.toContain(SECRET);
    });

    test("a writable mount around another app's mount is refused", async () => {
      await system().agent.restart(onlyData());
      expect((await deployVictim()).final.status).toBe("Success");
      const around = await deployAttacker();
      expect(around.final).toMatchObject({ status: "Fail", code: "PolicyDenied", details: { rule: "policy.mounts" } });
      expect(around.final.message).toContain("could be replaced");
    });

    test("nested volumes of one app are refused", async () => {
      await system().agent.restart(onlyData());
      const volumes = [
        { local: data, target: "/data" },
        { local: join(data, "sub"), target: "/sub" },
      ];
      const image = await system().load(await sleeperImage());
      const { final } = await system().deploy({ name: system().name(), image, volumes });
      expect(final).toMatchObject({ status: "Fail", code: "PolicyDenied" });
      expect(final.message).toContain("the app itself");
    });

    test("a link in a shared directory to an allowed path is refused while an app can redirect it", async () => {
      await system().agent.restart(onlyData());
      await mkdir(join(data, "a"));
      await mkdir(join(data, "b"));
      await symlink("../b", join(data, "a", "link"));
      const image = await system().load(await sleeperImage());
      const first = system().name();
      const volumes = [{ local: join(data, "a"), target: "/a" }];
      expect((await system().deploy({ name: first, image, volumes })).final.status).toBe("Success");
      expect((await deployVictim(join(data, "a", "link"))).final).toMatchObject({ code: "PolicyDenied" });
      await system().finish(await system().change("DELETE", first));
      expect((await deployVictim(join(data, "a", "link"))).final.status).toBe("Success");
    });

    test("several apps may share the same directory, and read-only mounts", async () => {
      await system().agent.restart(onlyData());
      const image = await system().load(await sleeperImage());
      const deploy = async (local: string, readonly: boolean): Promise<DeploymentEvent> =>
        (await system().deploy({ name: system().name(), image, volumes: [{ local, target: "/data", readonly }] }))
          .final;
      expect(await deploy(join(data, "sub"), false)).toMatchObject({ status: "Success" });
      expect(await deploy(join(data, "sub"), false)).toMatchObject({ status: "Success" });
      expect(await deploy(data, true)).toMatchObject({ status: "Success" });
    });

    test("one of two concurrent deployments with nested mounts is refused", async () => {
      await system().agent.restart(onlyData());
      const image = await system().load(await sleeperImage());
      const open = (local: string) =>
        system().open({ name: system().name(), image, volumes: [{ local, target: "/data" }] });
      for (const [first, second] of [
        [data, join(data, "sub")],
        [join(data, "sub"), data],
      ] as const) {
        const streams = await Promise.all([open(first), open(second)]);
        const ends = await Promise.all(streams.map(async (stream) => (await system().finish(stream)).final));
        expect(ends.map(({ status }) => status).toSorted()).toEqual(["Fail", "Success"]);
        expect(ends.find(({ status }) => status === "Fail")).toMatchObject({ code: "PolicyDenied" });
        await removeApps();
      }
    });
  },
);
