import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NatsServer } from "../support/bus/nats-server.ts";
import { Device } from "../support/device/device.ts";
import { type DeviceEngine, devicesUnavailableReason, startDeviceEngine } from "../support/device/device-engine.ts";
import { deviceImage } from "../support/device/device-image.ts";
import { documented, fill } from "../support/documentation.ts";
import { TcpRelay } from "../support/link/tcp-relay.ts";
import { PostgresServer, postgresUnavailableReason } from "../support/postgres.ts";
import {
  administer,
  exposureOf,
  forwardPort,
  installRecipe,
  mainPid,
  RECIPE,
  statusOf,
  untilReplaced,
  writeForService,
} from "../support/recipes/control-machine.ts";

const PASSWORD = "a-password";
const TOKEN = "a-token";

const urlOf = (unit: string): string => `http://127.0.0.1:808${unit.at("edge-control@".length)}`;

const missing = (await devicesUnavailableReason()) ?? (await postgresUnavailableReason());

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

    test("the unit starts by the documented commands, and is ready when they return", async () => {
      expect(await statusOf(machine, `${URL}/readyz`)).toBe(200);
      // The console.
      expect(await statusOf(machine, `${URL}/`)).toBe(200);
      await expectConfined(UNIT);
    });

    test("the service's user administers it while it runs, and other users do not read its data", async () => {
      const data = "--data-dir /var/lib/edge-control";
      const { account_id: account } = await administer(machine, `account create acme ${data}`);
      expect(account).toMatch(/^acc_/);
      expect((await machine.succeed("stat -c '%a %U' /var/lib/edge-control")).trim()).toBe("700 edge-control");
    });

    test("the timer's unit makes a backup, which root and the service's user restore", async () => {
      const data = "--data-dir /var/lib/edge-control";
      const accounts = async (): Promise<number> => {
        const list = await administer(machine, `account list ${data}`);
        return Object.values(list).flat().length;
      };
      expect((await machine.succeed("systemctl is-enabled edge-control-backup.timer")).trim()).toBe("enabled");
      await machine.succeed("systemctl start edge-control-backup.service");
      const [file = "", ...others] = (await machine.succeed("ls /var/lib/edge-control-backups/*")).trim().split("\n");
      expect([file, others]).toEqual([expect.stringMatching(/edge-control-[\dTZ-]+\.db$/), []]);
      expect((await machine.succeed(`stat -c '%a %U' ${file}`)).trim()).toBe("600 edge-control");
      const before = await accounts();
      for (const user of ["root", "edge-control"]) {
        // By root, beside the running service.
        await machine.succeed(`/opt/edge-control/edge-control account create after-${user} ${data}`);
        expect(await accounts()).toBe(before + 1);
        const restore = fill(documented("docs/service-recovery.md", "Backup and restore"), { FILE: file });
        const command = "/opt/edge-control/edge-control";
        const asUser = user === "root" ? restore : fill(restore, { [command]: `runuser -u ${user} -- ${command}` });
        await machine.succeed(`set -e; ${asUser}`);
        expect([await statusOf(machine, `${URL}/readyz`), await accounts()]).toEqual([200, before]);
        const owners = await machine.succeed("stat -c %U /var/lib/edge-control/*");
        expect(new Set(owners.trim().split("\n"))).toEqual(new Set(["edge-control"]));
      }
    });

    test("the journal has the first admin's link, and a backup is made when asked for, as docs/pilot.md says", async () => {
      const announced = await machine.succeed(documented("docs/pilot.md", "2. The first admin, and people"));
      expect(announced).toMatch(/https:\/\/control\.example\.com\/#\/setup\?code=\S+/);
      const made = await machine.succeed(`set -e; ${documented("docs/pilot.md", "10. A backup")}`);
      expect(made).toMatch(/secrets\.key[^]*edge-control-[\dTZ-]+\.db/);
    });

    test("systemd starts it again after it was killed", async () => {
      const pid = await mainPid(machine, UNIT);
      await machine.succeed(`kill -KILL ${pid}`);
      await untilReplaced(machine, UNIT, pid);
      expect(await statusOf(machine, `${URL}/readyz`)).toBe(200);
    });

    test("systemd starts it again after it stood still", async () => {
      const pid = await mainPid(machine, UNIT);
      await machine.succeed(`kill -STOP ${pid}`);
      await untilReplaced(machine, UNIT, pid);
      await machine.journal(`-u ${UNIT}`, "Watchdog timeout");
    });

    test("another address in its configuration is no reason to start it again", async () => {
      await writeForService(machine, "config.json", '{ "listen": "127.0.0.1:8100" }');
      await machine.succeed(`systemctl restart ${UNIT}`);
      expect(await statusOf(machine, "http://127.0.0.1:8100/readyz")).toBe(200);
      expect(await machine.succeed(`systemctl status ${UNIT}`)).toContain("Listening on 127.0.0.1, port 8100");
    });

    test("a configuration that is not valid ends systemctl with an error, and the journal says why", async () => {
      await writeForService(machine, "config.json", '{ "listen": "nowhere" }');
      expect((await machine.run(`systemctl restart ${UNIT}`)).code).not.toBe(0);
      await machine.journal(`-u ${UNIT} -n 20`, "listen: must be HOST:PORT");
      await writeForService(machine, "config.json", "{}");
      await machine.succeed(`systemctl restart ${UNIT}`);
    });

    test("it stops without an error", async () => {
      await machine.succeed(`systemctl disable --now ${UNIT}`);
      expect((await machine.succeed(`systemctl show ${UNIT} -p Result --value`)).trim()).toBe("success");
    });
  });

  describe("two instances on PostgreSQL and NATS", () => {
    const UNITS = ["edge-control@1.service", "edge-control@2.service"] as const;

    beforeAll(async () => {
      const postgres = owned.use(await PostgresServer.start({ password: PASSWORD }));
      const nats = owned.use(await NatsServer.start({ config: [`authorization { token: "${TOKEN}" }`] }));
      // On loopback of the machine, as the recipe's configuration has it.
      const database = owned.use(await TcpRelay.to(postgres.port, engine.hostAddress));
      const bus = owned.use(await TcpRelay.to(nats.port, engine.hostAddress));
      await postgres.execute("CREATE ROLE edge_control LOGIN");
      await postgres.execute(`ALTER ROLE edge_control PASSWORD '${PASSWORD}'`);
      await postgres.execute("CREATE DATABASE edge_control OWNER edge_control");
      await forwardPort(machine, 5432, engine.hostAddress, database.port);
      await forwardPort(machine, 4222, engine.hostAddress, bus.port);
      await writeForService(machine, "config.json", await readFile(`${RECIPE}/config.json`, "utf8"));
      await writeForService(machine, "database-password", PASSWORD);
      await writeForService(machine, "nats-token", TOKEN);
    });

    test("the first start migrates the database, and both are ready when systemctl returns", async () => {
      await machine.succeed(`systemctl enable --now ${UNITS.join(" ")}`);
      for (const unit of UNITS) {
        expect(await statusOf(machine, `${urlOf(unit)}/readyz`)).toBe(200);
        await expectConfined(unit);
      }
    });

    test("what is done on one is seen on the other", async () => {
      const config = "--config /etc/edge-control/config.json";
      const { account_id: account = "" } = await administer(machine, `account create acme ${config}`);
      const key = await administer(machine, `key create --account ${account} --name test ${config}`);
      for (const unit of UNITS) {
        expect(await statusOf(machine, `${urlOf(unit)}/v1/assets`, key["api_key"])).toBe(200);
      }
    });

    test("systemd starts an instance again after it was killed, and the other serves meanwhile", async () => {
      const [first, second] = UNITS;
      const pid = await mainPid(machine, first);
      await machine.succeed(`kill -KILL ${pid}`);
      expect(await statusOf(machine, `${urlOf(second)}/readyz`)).toBe(200);
      await untilReplaced(machine, first, pid);
      expect(await statusOf(machine, `${urlOf(first)}/readyz`)).toBe(200);
    });

    test("an update restarts one after the other, and each stops without an error", async () => {
      const before = await Promise.all(UNITS.map((unit) => mainPid(machine, unit)));
      await machine.succeed(UNITS.map((unit) => `systemctl restart ${unit}`).join(" && "));
      for (const [index, unit] of UNITS.entries()) {
        expect(await mainPid(machine, unit)).not.toBe(before[index]);
        expect(await statusOf(machine, `${urlOf(unit)}/readyz`)).toBe(200);
        expect(await machine.succeed(`journalctl -u ${unit} -o cat --quiet`)).not.toMatch(
          /Failed with result 'timeout'/,
        );
      }
    });
  });
});

// Shows the reason if the suite is skipped.
if (missing !== undefined) test("the control plane's units", ({ skip }) => skip(missing));
