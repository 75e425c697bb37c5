import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Device } from "../support/device/device.ts";
import { type DeviceEngine, devicesUnavailableReason, startDeviceEngine } from "../support/device/device-engine.ts";
import { deviceImage } from "../support/device/device-image.ts";
import {
  administer,
  exposureOf,
  installRecipe,
  mainPid,
  statusOf,
  untilReplaced,
  writeForService,
} from "../support/recipes/control-machine.ts";

const missing = await devicesUnavailableReason();

/** The units of the control plane, on a machine with Debian 12. The tests run in order on the same machine. */
describe.skipIf(missing !== undefined)("the control plane's units", () => {
  const owned = new AsyncDisposableStack();
  let engine: DeviceEngine;
  let machine: Device;

  beforeAll(async () => {
    engine = owned.use(await startDeviceEngine("control"));
    const image = await deviceImage(engine.socketPath, "bookworm");
    machine = owned.use(await Device.start({ engineSocket: engine.socketPath, image, insecureRegistries: [] }));
    await installRecipe(machine);
  }, 900_000);
  afterAll(() => owned.disposeAsync());

  /** Checks that a unit is confined, and says why where it is not. */
  const expectConfined = async (unit: string): Promise<void> => {
    const { exposure, relaxed } = await exposureOf(machine, unit);
    expect(exposure).toBeLessThanOrEqual(2);
    const text = await machine.succeed(`systemctl cat ${unit}`);
    expect(relaxed.filter((name) => !text.includes(`${name}=`))).toEqual([]);
    const status = await machine.succeed(`cat /proc/${await mainPid(machine, unit)}/status`);
    expect(status).toMatch(/^CapBnd:\s+0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
  };

  describe("one instance on SQLite", () => {
    const UNIT = "edge-control.service";
    const URL = "http://127.0.0.1:8080";

    test("the unit starts, and is ready when systemctl returns", async () => {
      await writeForService(machine, "config.json", "{}");
      await machine.succeed(`systemctl enable --now ${UNIT}`);
      expect(await statusOf(machine, `${URL}/readyz`)).toBe(200);
      await expectConfined(UNIT);
    });

    test("the service's user administers it while it runs, and other users do not read its data", async () => {
      const data = "--data-dir /var/lib/edge-control";
      const { account_id: account } = await administer(machine, `account create acme ${data}`);
      expect(account).toMatch(/^acc_/);
      expect((await machine.succeed("stat -c '%a %U' /var/lib/edge-control")).trim()).toBe("700 edge-control");
    });

    test("systemd starts it again after it was killed", async () => {
      const pid = await mainPid(machine, UNIT);
      await machine.succeed(`kill -KILL ${pid}`);
      await untilReplaced(machine, UNIT, pid);
      expect(await statusOf(machine, `${URL}/readyz`)).toBe(200);
    });

    test("it stops without an error", async () => {
      await machine.succeed(`systemctl disable --now ${UNIT}`);
      expect((await machine.succeed(`systemctl show ${UNIT} -p Result --value`)).trim()).toBe("success");
    });
  });
});

// Shows the reason if the suite is skipped.
if (missing !== undefined) test("the control plane's units", ({ skip }) => skip(missing));
