import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LocalAgent } from "../../support/agent-local/local-agent.ts";
import { sleeperImage } from "../../support/images.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../../support/private-engine.ts";
import { Registry } from "../../support/registry.ts";

const missing = await privateEngineUnavailableReason();
const USER = { name: "user", password: "planted-registry-password" };

describe.skipIf(missing !== undefined)(
  `a private image deployed on the device itself${missing === undefined ? "" : ` (skipped: ${missing})`}`,
  () => {
    const owned = new AsyncDisposableStack();
    let device: LocalAgent;
    let image: string;

    const deploy = async (app: object, ...flags: readonly string[]) => {
      const file = join(device.directory, "app.json");
      await writeFile(file, JSON.stringify({ name: "web", image, ...app }));
      return await device.command("deploy", "-f", file, ...flags);
    };

    beforeAll(async () => {
      const engine = owned.use(await PrivateEngine.start());
      const registry = owned.use(await Registry.start({ user: USER }));
      image = await registry.push(await sleeperImage("local"), "team/web:1");
      const settings = { engine: { socket: engine.socketPath }, deploy: { settle_window_s: 1 } };
      device = owned.use(await LocalAgent.create({ config: settings }));
      await device.start();
    });
    afterAll(() => owned.disposeAsync());

    const registryAuth = { username: USER.name, password: USER.password };

    it("has its cost shown by a dry run, which changes nothing", async () => {
      const { code, stdout } = await deploy({ registry_auth: registryAuth }, "--dry-run");
      expect(stdout).toMatch(
        /Success +web: Nothing was changed\. Deploying app web would cost: [\d.]+ \wB to download/,
      );
      expect(code).toBe(0);
      expect((await device.command("apps")).stdout).not.toContain("web");
    });

    it("runs with the credentials in its file, and not without", async () => {
      const refused = await deploy({});
      expect(refused.stdout).toMatch(/Fail +web: The registry denies access to the image: .*none are known for it/);
      expect(refused.code).toBe(1);
      const { code, stdout, stderr } = await deploy({ registry_auth: registryAuth });
      expect(stdout).toMatch(/Success +web: App web is running/);
      expect(code).toBe(0);
      const said = [
        stdout,
        stderr,
        (await device.command("events")).stdout,
        (await device.command("app", "web")).stdout,
      ];
      expect(said.join("")).not.toContain(USER.password);
    });

    it("is refused with the name of the wrong field", async () => {
      const { code, stderr } = await deploy({ max_download_bytes: "a lot", registry_auth: registryAuth });
      expect(stderr).toContain("max_download_bytes");
      expect(stderr).not.toContain(USER.password);
      expect(code).not.toBe(0);
    });
  },
);
