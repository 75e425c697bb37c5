import { pause } from "../../lib/clock.ts";
import type { Command } from "commander";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import { isTerminal } from "../../lib/terminal/theme.ts";
import { createContext, loadLogin } from "../context.ts";
import type { Io } from "../io.ts";
import type { StreamConnection } from "../streams/connection.ts";
import { LiveLine } from "../views/live-line.ts";
import { APP, ASSET, wholeNumber } from "./options.ts";

interface ForwardFlags {
  readonly local?: number;
  readonly address: string;
}

const SHOW_COST_MS = 1_000;

export function addForward(program: Command, io: Io): void {
  const port = wholeNumber(1, 65_535);
  program
    .command("forward")
    .description("open a port of an app on this machine, over the device's link")
    .argument(...ASSET)
    .argument(...APP)
    .argument("<port>", "TCP port of the app, in its container", port)
    .option("--local <port>", "port on this machine; the same one if it is free, otherwise any", port)
    .option("--address <address>", "address on this machine to listen on", "127.0.0.1")
    .addHelpText("after", HELP)
    .action(async (asset: string, app: string, remote: number, flags: ForwardFlags, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const [{ openConnection }, { startForward }] = await Promise.all([
        import("../streams/open.ts"),
        import("../streams/forward.ts"),
      ]);
      const name = nameFor(flags.address, (await loadLogin(context)).url);
      using connections = new DisposableStack();
      const connect = async () => connections.use(await openConnection(context, asset, app));
      let connection = await connect();
      let connecting: Promise<unknown> | undefined;
      await tryPort(connection, remote);
      const cost = { sent: 0, received: 0 };
      await using forward = await startForward({
        port: remote,
        addresses: name === LOCALHOST ? [flags.address, "::1"] : [flags.address],
        localPort: flags.local,
        onBytes: (direction, bytes) => void (cost[direction] += bytes),
        onFailure: (failure) => printer.note(failure.message),
        connection: async () => {
          // The service was restarted, or this machine's network has changed. All that wait share one connection.
          if (!connection.isOpen) {
            connecting ??= connect().then((opened) => (connection = opened));
            await connecting.finally(() => (connecting = undefined));
          }
          return connection;
        },
      });
      const { address, port: local } = forward.address;
      const url = `http://${name.includes(":") ? `[${name}]` : name}:${local}`;
      const event = { url, address, port: local, app, app_port: remote };
      if (printer.json) printer.jsonLine(event);
      else printer.line(`${url} leads to port ${remote} of ${app} on ${asset}. Ctrl-C ends it.`);
      const text = (): string =>
        `Over the device's link: ${formatBytes(cost.sent)} to it, ${formatBytes(cost.received)} from it`;
      using live = printer.json || !isTerminal(io.stderr, io.env) ? undefined : new LiveLine(io.stderr);
      await untilInterrupted(io, () => live?.show(text()));
      live?.clear();
      if (printer.json) printer.jsonLine({ ...cost });
      else printer.line(`${text()}.`);
    });
}

const LOCALHOST = "localhost";

/**
 * Returns the host name under which a browser is to open the port: another one than that of a console on loopback, whose
 * cookies it would send along, and which an app could set.
 */
function nameFor(address: string, serviceUrl: string): string {
  return address === URL.parse(serviceUrl)?.hostname && address === "127.0.0.1" ? LOCALHOST : address;
}

/** Fails here rather than in the browser. */
async function tryPort(connection: StreamConnection, port: number): Promise<void> {
  using trial = connection.open("forward", { port });
  await trial.opened;
}

async function untilInterrupted(io: Io, everySecond: () => void): Promise<void> {
  while (!io.interrupted.aborted) {
    everySecond();
    await pause(io.clock, SHOW_COST_MS, io.interrupted);
  }
}

const HELP = `
The device's owner has to allow it (policy.remote_access in its configuration),
and the API key needs the permission "forward". Every byte is carried by the
device's link and counted in its data usage. Ends with exit code 0 on Ctrl-C.

Examples:
  edgectl forward GW-0001 node-red 1880
  edgectl forward GW-0001 postgres 5432 --local 15432`;
