import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LocalAgent } from "../../support/agent-local/local-agent.ts";
import type { AppStats } from "../../../src/protocol/apps/app-stats.ts";
import { freeHostPort } from "../../support/free-port.ts";
import { crashLoopImage, crasherImage, engineRequest, loadImage, webImage } from "../../support/images.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../../support/private-engine.ts";
import { waitFor } from "../../support/wait-for.ts";

const missing = await privateEngineUnavailableReason();
const SECRET = "planted-environment-secret-42";

describe.skipIf(missing !== undefined)(
  `commands about apps${missing === undefined ? "" : ` (skipped: ${missing})`}`,
  () => {
    const owned = new AsyncDisposableStack();
    let engine: PrivateEngine;
    let device: LocalAgent;
    let web: string;
    let crasher: string;
    let lateCrasher: string;
    let oneShot: string;
    let port: number;

    const deploy = async (app: Readonly<Record<string, unknown>>) => {
      const file = join(device.directory, "app.json");
      await writeFile(file, JSON.stringify(app));
      return await device.command("deploy", "-f", file);
    };

    beforeAll(async () => {
      engine = owned.use(await PrivateEngine.start());
      web = owned.use(await loadImage(engine.socketPath, await webImage(), "web")).reference;
      crasher = owned.use(await loadImage(engine.socketPath, await crashLoopImage(7), "crasher")).reference;
      lateCrasher = owned.use(await loadImage(engine.socketPath, await crasherImage(7, 4), "late")).reference;
      oneShot = owned.use(await loadImage(engine.socketPath, await crasherImage(0), "once")).reference;
      port = await freeHostPort();
      device = owned.use(
        await LocalAgent.create({ config: { engine: { socket: engine.socketPath }, deploy: { settle_window_s: 1 } } }),
      );
      await device.start();
      const { code, stdout } = await deploy({
        name: "web",
        image: web,
        environments: [{ key: "GREETING", value: SECRET }],
        ports: [{ host_port: port, target_port: 8080 }],
      });
      expect(stdout).toMatch(/Success +web: App web is running/);
      expect(code).toBe(0);
    });
    afterAll(() => owned.disposeAsync());

    it("a local deployment with --timings shows how long each step took, and the engine's part", async () => {
      const file = join(device.directory, "timed.json");
      await writeFile(file, JSON.stringify({ name: "timed", image: web }));
      const { code, stdout } = await device.command("deploy", "-f", file, "--timings");
      expect(code).toBe(0);
      expect(stdout).toMatch(
        /STEP +TOTAL +ENGINE +SHARE\nchecking .* %\ncreating .* %\nstarting .* %\nverifying .* %\n/,
      );
      expect(stdout).not.toContain("timings");
      expect((await device.command("remove", "timed")).code).toBe(0);
    });

    it("a local deployment runs the app and shows every step, then and later", async () => {
      const page = await (await fetch(`http://127.0.0.1:${port}/`)).text();
      expect(page).toContain("edge-agent test app");
      const events = (await device.command("events")).stdout;
      for (const step of ["checking", "creating", "starting", "verifying", "Success"]) expect(events).toContain(step);
    });

    it("apps and status list it with its port", async () => {
      expect((await device.command("apps")).stdout).toMatch(new RegExp(`web +running +${port}:8080 +0`));
      expect((await device.command("status")).stdout).toMatch(/Engine +docker/);
    });

    it("status lists it without the daemon too", async () => {
      const other = await LocalAgent.create({
        config: { engine: { socket: engine.socketPath }, state_dir: device.stateDir },
      });
      await using _other = other;
      const { code, stdout } = await other.command("status");
      expect(code).toBe(3);
      expect(stdout).toMatch(new RegExp(`web +running +${port}:8080`));
    });

    it("app explains an app that runs, without values of its environment", async () => {
      const { code, stdout } = await device.command("app", "web");
      expect(code).toBe(0);
      expect(stdout).toMatch(/It was deployed, from/);
      expect(stdout).toMatch(/Its container is running/);
      expect(stdout).toMatch(/Variables +GREETING/);
      expect(stdout).toMatch(/It runs\./);
      expect(stdout).not.toContain(SECRET);
    });

    it("its log is shown and followed, secrets masked", async () => {
      expect((await device.command("logs", "web")).stdout).toContain("serving on port 8080");
      const following = device.follow("logs", "web", "-f");
      await following.waitForOutput("serving on port");
      following.kill("SIGINT");
      expect(await following.exited).toBe(130);
    });

    it("stats shows what it uses, once and live", async () => {
      const { code, stdout } = await device.command("stats");
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^APP +STATE +CPU %.*\nweb +running /)]);
      const one = await device.json<AppStats>("stats web");
      expect(one.apps).toMatchObject([{ app: "web", state: "running", writable_bytes: expect.any(Number) as number }]);
      expect(await device.command("stats", "nobody")).toMatchObject({ code: 4 });
      const live = device.follow("stats", "web", "--live", "--interval", "1", "--json");
      await live.waitForOutput("web");
      live.kill("SIGINT");
      expect(await live.exited).toBe(130);
      expect((await device.command("stats", "--interval", "0")).code).toBe(2);
    });

    it("logs --previous shows nothing in the first run, and cannot be followed", async () => {
      const nothing = await device.command("logs", "web", "--previous");
      expect([nothing.code, nothing.stderr]).toEqual([1, expect.stringContaining("Nothing is left of what web wrote")]);
      expect((await device.command("logs", "web", "-p", "-f")).code).toBe(2);
      expect((await device.command("logs", "--previous")).code).toBe(2);
    });

    it("restart starts another run of the same container", async () => {
      const startedAt = async (): Promise<string> =>
        (await device.json<{ apps: { started_at: string }[] }>("apps")).apps[0]?.started_at ?? "";
      const before = await startedAt();
      const { code, stdout } = await device.command("restart", "web");
      expect([code, stdout]).toEqual([0, expect.stringContaining("App web was restarted and is running.")]);
      expect(await startedAt()).not.toBe(before);
      expect((await device.command("events")).stdout).toContain("App web was restarted and is running.");
    });

    it("logs --previous shows what it wrote before the restart", async () => {
      const { code, stdout } = await device.command("logs", "web", "--previous");
      expect([code, stdout.match(/serving on port/g)]).toEqual([0, ["serving on port"]]);
      const all = (await device.command("logs", "web")).stdout.match(/serving on port/g);
      expect(all).toHaveLength(2);
    });

    it("stop keeps it stopped, and all commands show it; start starts it again", async () => {
      expect(await device.command("stop", "web")).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("App web is stopped, and stays so until it is started."),
      });
      expect(await device.command("apps")).toMatchObject({ code: 0, stdout: expect.stringMatching(/web +stopped/) });
      expect((await device.command("app", "web")).stdout).toMatch(/Why: +It was stopped on purpose/);
      expect(await device.command("start", "web")).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("App web is running."),
      });
    });

    it("update changes what the file names, and nothing else", async () => {
      const file = join(device.directory, "patch.json");
      await writeFile(file, JSON.stringify({ environments: [] }));
      expect(await device.command("update", "web", "-f", file)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("App web is updated and running."),
      });
      expect((await device.command("app", "web")).stdout).not.toContain("GREETING");
      expect((await device.command("logs", "web", "--previous")).stdout).toContain("serving on port");
      expect(await device.command("update", "web", "-f", file)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("was not restarted"),
      });
      await writeFile(file, JSON.stringify({ image: crasher }));
      const { code, stdout } = await device.command("update", "web", "-f", file);
      expect(code).toBe(1);
      expect(stdout).toMatch(/The previous version runs again\. \(CrashLoopBackOff\)/);
      expect((await device.command("app", "web")).stdout).toMatch(/It runs\./);
    });

    it.each(["restart", "stop", "start", "remove"])(
      "%s of an app that is not installed is refused",
      async (command) => {
        expect(await device.command(command, "nobody")).toMatchObject({
          code: 4,
          stderr: expect.stringContaining("There is no app named nobody"),
        });
      },
    );

    it("a crashing app fails its deployment, with its last lines, and is not installed", async () => {
      const { code, stdout } = await deploy({ name: "crasher", image: crasher });
      expect(code).toBe(1);
      expect(stdout).toMatch(/CrashLoopBackOff/);
      expect(stdout).toContain("cannot go on");
      expect((await device.command("app", "crasher")).stdout).toMatch(/Why: +It was never deployed successfully/);
    });

    it("an app that has ended as its restart policy allows is in order", async () => {
      const { code, stdout } = await deploy({ name: "once", image: oneShot, restart_policy: "no" });
      expect([code, stdout]).toEqual([0, expect.stringContaining("Success")]);
      await waitFor("its end", async () => (await device.command("apps")).stdout.match(/once +finished/));
      expect(await device.command("app", "once")).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(
          /It has done its work: it ended with exit code 0, as its restart policy \(no\)[^]*Last started[^]*It has finished\./,
        ),
      });
      expect((await device.command("status")).stdout).not.toContain("once does not run as it should");
      expect(await device.command("remove", "once")).toMatchObject({ code: 0 });
    });

    it("app says how the run before ended while the next one runs", async () => {
      const file = join(device.directory, "once-more.json");
      const app = { name: "relapse", image: lateCrasher };
      await writeFile(file, JSON.stringify(app));
      const { code, stdout } = await device.command("deploy", "-f", file);
      expect([code, stdout]).toEqual([0, expect.stringContaining("Success")]);
      const explained = await waitFor("an explanation while it runs again", async () => {
        const { stdout } = await device.command("app", "relapse");
        return stdout.includes("Its container is running") && stdout.includes("The run before") ? stdout : undefined;
      });
      expect(explained).toContain("The run before: ended with exit code 7.");
      expect(await device.command("remove", "relapse")).toMatchObject({ code: 0 });
    });

    it("app says that it is paused", async () => {
      const listed = await engineRequest(engine.socketPath, "GET", "/containers/json");
      const [{ Id }] = JSON.parse(listed.body) as [{ Id: string }];
      await engineRequest(engine.socketPath, "POST", `/containers/${Id}/pause`);
      const { code, stdout } = await device.command("app", "web");
      expect(code).toBe(1);
      expect(stdout).toMatch(/Its container was paused on the device.*docker unpause/s);
      await engineRequest(engine.socketPath, "POST", `/containers/${Id}/unpause`);
    });

    it("a container removed outside the agent is created again, and the events show the repair", async () => {
      const following = device.follow("events", "-f", "-n", "0");
      const listed = await engineRequest(engine.socketPath, "GET", "/containers/json");
      const [{ Id }] = JSON.parse(listed.body) as [{ Id: string }];
      await engineRequest(engine.socketPath, "DELETE", `/containers/${Id}?force=1`);
      await following.waitForOutput(/repair +web: its container was removed\. It was put right/);
      await waitFor("running again", async () => (await device.command("app", "web")).code === 0);
    });
  },
);
