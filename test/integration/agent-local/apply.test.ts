import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LocalAgent } from "../../support/agent-local/local-agent.ts";
import { crashLoopImage, loadImage, webImage } from "../../support/images.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../../support/private-engine.ts";

const missing = await privateEngineUnavailableReason();

const app = (name: string, image: string, ...dependsOn: string[]) => ({
  app: { name, image, pull: "missing" },
  depends_on: dependsOn.map((other) => ({ app: other, condition: "healthy" })),
});

describe.skipIf(missing !== undefined)(
  `edge-agent apply${missing === undefined ? "" : ` (skipped: ${missing})`}`,
  () => {
    const owned = new AsyncDisposableStack();
    let device: LocalAgent;
    let web: string;
    let crasher: string;

    const apply = async (group: object, ...flags: string[]) => {
      const file = join(device.directory, "group.json");
      await writeFile(file, JSON.stringify(group));
      return await device.command("apply", "-f", file, ...flags);
    };
    beforeAll(async () => {
      const engine = owned.use(await PrivateEngine.start());
      web = owned.use(await loadImage(engine.socketPath, await webImage(), "web")).reference;
      crasher = owned.use(await loadImage(engine.socketPath, await crashLoopImage(7), "crasher")).reference;
      device = owned.use(
        await LocalAgent.create({ config: { engine: { socket: engine.socketPath }, deploy: { settle_window_s: 1 } } }),
      );
      await device.start();
    });
    afterAll(() => owned.disposeAsync());

    it("shows what it would do, does it with the events of all apps, and goes back as a whole", async () => {
      const group = { project: "line", apps: [app("second", web, "first"), app("first", web)] };
      const dry = await apply(group, "--dry-run");
      expect(dry).toMatchObject({ code: 0 });
      expect(dry.stdout).toMatch(/plan:\n +first: new\n +second: new\n/);
      expect((await device.command("apps")).stdout).not.toContain("first");

      const applied = await apply(group);
      expect(applied).toMatchObject({ code: 0 });
      expect(applied.stdout).toMatch(/starting +first: /);
      expect(applied.stdout).toMatch(/starting +second: /);
      expect(applied.stdout).toMatch(/Success +line: line is applied: 2 changed\./);
      expect(applied.stdout.match(/ Success /g)).toHaveLength(1);
      expect((await apply(group)).stdout).toContain("Nothing to change");

      const failing = { ...group, prune: true, apps: [app("third", crasher), app("first", web)] };
      const failed = await apply(failing);
      expect(failed.code).toBe(1);
      expect(failed.stdout).toMatch(/Fail +line: App third: .*As before again: second\./s);
      expect((await device.command("apps")).stdout).toMatch(/first +running[^]*second +running/);
      expect((await device.command("events")).stdout).toContain("line is applied");
    });

    it("refuses a file that is no group, and one that is YAML", async () => {
      const { code, stdout } = await apply({ project: "line", apps: [] });
      expect(code).toBe(1);
      expect(stdout).toMatch(/Fail .*apps.* must not be empty/s);
      const file = join(device.directory, "group.yaml");
      await writeFile(file, "project: line\n");
      const yaml = await device.command("apply", "-f", file);
      expect([yaml.code, yaml.stderr]).toEqual([2, expect.stringContaining("is YAML; this takes JSON")]);
    });
  },
);
