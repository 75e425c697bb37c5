import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type RunningCommand, run, start, succeed } from "./command.ts";
import { tempDir } from "./temp-dir.ts";

const SERVICE = "org.freedesktop.ModemManager1";
const ROOT = "/org/freedesktop/ModemManager1";
/** Everybody may call everything: no policy of a system keeps tests from its bus. */
const CONFIGURATION = (path: string): string => `<busconfig>
  <type>system</type>
  <listen>unix:path=${path}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow own="*"/>
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
  </policy>
</busconfig>`;

/** Properties by name, each as `busctl` takes it: its type and its values. */
type Properties = Readonly<Record<string, readonly string[]>>;

/**
 * A real D-Bus on which python-dbusmock stands in for ModemManager, with the modems that a test adds. Disposing it ends both and
 * removes their directory.
 */
export class MockModemManager implements AsyncDisposable {
  readonly address: string;
  readonly #owned: AsyncDisposableStack;
  #service: RunningCommand | undefined;

  private constructor(address: string, owned: AsyncDisposableStack) {
    this.address = address;
    this.#owned = owned;
  }

  static async start(): Promise<MockModemManager> {
    await using owned = new AsyncDisposableStack();
    const { path } = owned.use(await tempDir());
    const socket = join(path, "bus");
    await writeFile(join(path, "bus.conf"), CONFIGURATION(socket));
    const bus = owned.use(start("dbus-daemon", ["--nofork", "--nopidfile", `--config-file=${join(path, "bus.conf")}`]));
    const mock = new MockModemManager(`unix:path=${socket}`, owned.move());
    await bus.waitUntil("the bus", async () => (await mock.#busctl("list")).code === 0);
    return mock;
  }

  /** Takes the name of the service. */
  async serve(): Promise<void> {
    const args = ["-m", "dbusmock", "--system", "-m", SERVICE, ROOT, SERVICE];
    // Debian's: another Python that comes first on the path has no packages of Debian.
    const service = this.#owned.use(start("/usr/bin/python3", args, { env: this.#env }));
    this.#service = service;
    await service.waitUntil("the service", async () => (await this.#busctl("status", SERVICE)).code === 0);
  }

  /** Adds a modem with its interfaces, by their names behind `org.freedesktop.ModemManager1.`. */
  async addModem(number: number, { Modem = {}, ...others }: Readonly<Record<string, Properties>>): Promise<void> {
    const path = `${ROOT}/Modem/${number}`;
    await this.#mock(ROOT, "AddObject", "ssa{sv}a(ssss)", path, `${SERVICE}.Modem`, ...dictionary(Modem), "0");
    for (const [name, properties] of Object.entries(others))
      await this.#mock(path, "AddProperties", "sa{sv}", `${SERVICE}.${name}`, ...dictionary(properties));
  }

  /** Has the service stop answering, with its name still taken. */
  freeze(): void {
    this.#service?.kill("SIGSTOP");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#service?.kill("SIGCONT");
    await this.#owned.disposeAsync();
  }

  get #env(): { readonly DBUS_SYSTEM_BUS_ADDRESS: string } {
    return { DBUS_SYSTEM_BUS_ADDRESS: this.address };
  }

  async #mock(path: string, method: string, ...args: readonly string[]): Promise<void> {
    const call = ["--system", "call", "--", SERVICE, path, "org.freedesktop.DBus.Mock", method, ...args];
    await succeed("busctl", call, { env: this.#env });
  }

  #busctl(...args: readonly string[]): ReturnType<typeof run> {
    return run("busctl", ["--system", ...args], { env: this.#env });
  }
}

function dictionary(properties: Properties): string[] {
  const entries = Object.entries(properties);
  return [String(entries.length), ...entries.flatMap(([name, value]) => [name].concat(value))];
}
