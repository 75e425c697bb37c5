import { utcDay } from "../../../src/lib/terminal/time.ts";
import type { DeviceDataUsage } from "../../../src/protocol/link/data-usage.ts";
import { Device } from "../../support/device/device.ts";
import { STATE } from "../../support/device/device-faults.ts";
import { deviceImage, type EnginePackage, type Suite } from "../../support/device/device-image.ts";
import { type AppContainer, appContainer, serviceState } from "../../support/device/service.ts";
import { documented } from "../../support/documentation.ts";
import { loadImage, webImage } from "../../support/images.ts";
import type { Asset } from "../../support/system/control.ts";
import { waitFor } from "../../support/wait-for.ts";
import { APP, type Site } from "./site.ts";

const DAY_S = 24 * 3600;
/** A device on a busy machine. */
const ONLINE_MS = 300_000;
/** A download and a restart on such a device. */
const RETURN_MS = 900_000;
/** What systemd says about units that start and stop as they should. */
const ROUTINE = /^(Starting|Started|Stopping|Stopped|Finished) |Deactivated successfully|Consumed |Scheduled restart/;
/** What the agent logs about updates of itself. */
const OF_UPDATES =
  /release|trial|update of the agent|agent is|^\w*Error: |Main process exited|Watchdog|Failed with result/i;
/** Lines of a stack, of which the first line says enough. */
const STACK = /^file:|^\s+at /;
/** The fields of a log line, which the text repeats. */
const FIELDS = / (?:deployment|release)=.*$/;

/** Such as `Debian 12`. */
export const debianOf = (suite: Suite): string => `Debian ${{ bullseye: 11, bookworm: 12, trixie: 13 }[suite]}`;

/** Bytes in both directions. */
export interface Traffic {
  readonly received: number;
  readonly sent: number;
}

/** What a device has counted itself. */
export interface Counted {
  /** For updates of the agent. */
  readonly agent: number;
  /** Of the agent, for all purposes, with the estimated headers. */
  readonly all: number;
}

/** A line of a device's journal. */
export interface JournalLine {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly text: string;
}

interface GatewayOptions {
  readonly name: string;
  readonly suite: Suite;
  /** Default: Docker. */
  readonly enginePackage?: EnginePackage;
  /** Whether the agent's state has a file system of its own, for `shrinkDisk`. */
  readonly hasOwnDisk?: boolean;
  /** Default: the package of this build. */
  readonly deb?: string;
}

/** A whole device with the package of this build, enrolled and online. */
export class Gateway implements AsyncDisposable {
  readonly name: string;
  readonly suite: Suite;
  readonly asset: Asset;
  readonly device: Device;
  readonly #site: Site;
  /** What the interface had counted before the device was switched off. */
  #before: Traffic = { received: 0, sent: 0 };

  private constructor(site: Site, { name, suite }: GatewayOptions, asset: Asset, device: Device) {
    this.name = name;
    this.suite = suite;
    this.asset = asset;
    this.device = device;
    this.#site = site;
  }

  static async start(site: Site, options: GatewayOptions): Promise<Gateway> {
    const { backend, engine } = site;
    const asset = await backend.asset(options.name);
    const device = await Device.start({
      engineSocket: engine.socketPath,
      image: await deviceImage(engine.socketPath, options.suite, options.enginePackage),
      insecureRegistries: options.enginePackage === "podman" ? [] : [backend.registryHost],
    });
    const gateway = new Gateway(site, options, asset, device);
    try {
      await gateway.#install(options);
    } catch (error) {
      await gateway[Symbol.asyncDispose]();
      throw error;
    }
    return gateway;
  }

  async #install({ hasOwnDisk = false, deb = this.#site.deb, enginePackage }: GatewayOptions): Promise<void> {
    const { backend } = this.#site;
    if (hasOwnDisk) await this.device.succeed(`mkdir -p ${STATE} && mount -t tmpfs -o mode=700,size=1g state ${STATE}`);
    await this.device.copy(deb, "/root/edge-agent.deb");
    await this.device.succeed("dpkg --install /root/edge-agent.deb");
    await this.device.copy(backend.caFile, "/etc/edge-agent/ca.pem");
    await this.device.succeed("chmod 644 /etc/edge-agent/ca.pem");
    await this.device.succeed(`sed -i '1a "extra_ca_file": "/etc/edge-agent/ca.pem",' /etc/edge-agent/config.json`);
    const token = `${this.asset.deviceToken}\n`;
    await this.device.succeed(`edge-agent enroll --url ${backend.agentUrl} --token-file -`, token);
    // As docs/install.md says.
    if (enginePackage === "podman") await this.device.succeed(documented("docs/install.md", "What the service may do"));
    await this.device.succeed("systemctl restart edge-agent");
    await this.untilOnline();
  }

  get isOnline(): boolean {
    return this.#site.linkChanges(this.asset.uuid).at(-1)?.isOnline === true;
  }

  async untilOnline(): Promise<void> {
    await waitFor(`${this.name} to be online`, () => this.isOnline, { timeoutMs: ONLINE_MS, intervalMs: 500 });
  }

  /** Waits until the device has been away and is back, from now on. @returns how long it was away, in milliseconds */
  async untilBack(): Promise<number> {
    const known = this.#site.absences(this.asset.uuid, 0).length;
    const { from, until } = await waitFor(
      `${this.name} to come back`,
      () => this.#site.absences(this.asset.uuid, 0)[known],
      { timeoutMs: RETURN_MS, intervalMs: 500 },
    );
    return until - from;
  }

  /** Restarts the service as a person does. @returns how long the device was away, in milliseconds */
  async restartService(): Promise<number> {
    const back = this.untilBack();
    await this.device.succeed("systemctl restart edge-agent");
    return await back;
  }

  /** Milliseconds that the device was away in each of its absences since then, in milliseconds since the epoch. */
  away(since: number): number[] {
    return this.#site.absences(this.asset.uuid, since).map(({ from, until }) => until - from);
  }

  /** Loads the app's image into the device's engine. @returns its reference */
  async loadApp(): Promise<string> {
    return (await loadImage(this.device.engineSocket, await webImage(), APP)).reference;
  }

  async app(): Promise<AppContainer | undefined> {
    return await appContainer(this.device, APP);
  }

  /** The version that runs, as the device says. */
  async version(): Promise<string> {
    const { pid } = await serviceState(this.device);
    const program = (await this.device.succeed(`readlink /proc/${pid}/exe`)).trim();
    return /edge-agent-releases\/([^/]+)\//.exec(program)?.[1] ?? "package";
  }

  /** All that has passed its network interface: of the agent, its engine and everything else. */
  async wire(): Promise<Traffic> {
    const line = await this.device.succeed("grep eth0: /proc/net/dev");
    const counters = (line.split(":")[1] ?? "").trim().split(/\s+/).map(Number);
    const { received, sent } = this.#before;
    return { received: received + (counters[0] ?? Number.NaN), sent: sent + (counters[8] ?? Number.NaN) };
  }

  /** What the device has counted, by its answer to the service. */
  async counted(): Promise<Counted> {
    const from = utcDay(Date.now() / 1000 - DAY_S);
    const { body } = await this.#site.backend.api.get(`/v1/assets/${this.asset.uuid}/edge/data-usage?from=${from}`);
    const { days } = body as unknown as DeviceDataUsage;
    let [agent, all] = [0, 0];
    for (const { by_purpose: purposes, overhead_estimate_bytes: overhead } of days) {
      all += overhead;
      for (const [purpose, { received_bytes: received, sent_bytes: sent }] of Object.entries(purposes)) {
        all += received + sent;
        if (purpose === "agent") agent += received + sent;
      }
    }
    return { agent, all };
  }

  /** Leaves so many bytes to the agent's state. */
  async shrinkDisk(bytes: number): Promise<void> {
    await this.device.succeed(`mount -o remount,size=${bytes} ${STATE}`);
  }

  async switchOff(): Promise<void> {
    this.#before = await this.wire();
    await this.device.shutDown();
  }

  async switchOn(): Promise<void> {
    await this.device.boot();
  }

  /** What the journal has about updates since then, in milliseconds since the epoch. */
  async journal(since: number): Promise<JournalLine[]> {
    const units = ["edge-agent", "edge-agent-update", "edge-agent-trial"].map((unit) => `-u ${unit}`).join(" ");
    const from = `@${Math.floor(since / 1000)}`;
    const output = await this.device.succeed(`journalctl --quiet -o json --since ${from} ${units}`);
    return output
      .split("\n")
      .filter(Boolean)
      .flatMap((text) => {
        const { MESSAGE: message, __REALTIME_TIMESTAMP: time, ...fields } = JSON.parse(text) as JournalEntry;
        if (typeof message !== "string" || ROUTINE.test(message) || STACK.test(message)) return [];
        const unit = fields.UNIT ?? fields._SYSTEMD_UNIT;
        if (unit === "edge-agent.service" && !OF_UPDATES.test(message)) return [];
        return [{ at: Number(time) / 1000, text: message.replace(FIELDS, "") }];
      });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.device[Symbol.asyncDispose]();
  }
}

interface JournalEntry {
  readonly MESSAGE: unknown;
  readonly __REALTIME_TIMESTAMP: string;
  readonly UNIT?: string;
  readonly _SYSTEMD_UNIT?: string;
}
