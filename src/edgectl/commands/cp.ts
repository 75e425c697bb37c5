import type { Command } from "commander";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import { isTerminal } from "../../lib/terminal/theme.ts";
import { type Context, createContext } from "../context.ts";
import { EXIT, Failure, usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import type { StreamConnection } from "../streams/connection.ts";
import { LiveLine } from "../views/live-line.ts";
import { ASSET } from "./options.ts";

const SHOW_PROGRESS_MS = 500;

const IN_APP = /^([A-Za-z0-9][A-Za-z0-9_.-]*):(\/.*)$/;

export function addCp(program: Command, io: Io): void {
  program
    .command("cp")
    .description("copy files to or from an app's container, over the device's link")
    .argument(...ASSET)
    .argument("<from>", "APP:/PATH, or a file or directory here")
    .argument("<to>", "APP:/PATH, or a place here; - writes a file to standard output")
    .addHelpText("after", HELP)
    .action(async (asset: string, from: string, to: string, _flags: object, command: Command) => {
      const context = createContext(io, command);
      const { app, path, isUpload } = directionOf(from, to);
      const [{ openConnection }, { download, print }, { upload }] = await Promise.all([
        import("../streams/open.ts"),
        import("../streams/download.ts"),
        import("../streams/upload.ts"),
      ]);
      using connection = await openConnection(context, asset, app);
      if (to === "-") {
        if (!io.raw) throw new Failure("There is no standard output.", { exitCode: EXIT.failed });
        await print(connection, path, io.raw.stdout);
        return;
      }
      const done = await withProgress(context, connection.bytes, () =>
        isUpload ? upload(connection, from, path) : download(connection, path, to),
      );
      const { files, bytes, skipped } = done;
      context.printer.result(done, () => `Copied ${files} ${files === 1 ? "file" : "files"}, ${formatBytes(bytes)}.`);
      if (skipped > 0) context.printer.note(`${skipped} links, devices or sockets were not copied.`);
    });
}

/** On a terminal, shows the bytes carried so far. */
async function withProgress<T>(
  { io, printer }: Context,
  bytes: StreamConnection["bytes"],
  work: () => Promise<T>,
): Promise<T> {
  if (printer.json || !isTerminal(io.stderr, io.env)) return work();
  using live = new LiveLine(io.stderr);
  let timer: Disposable | undefined;
  const show = (): void => {
    live.show(`${formatBytes(bytes.sent + bytes.received)} over the device's link`);
    timer = io.clock.timer(SHOW_PROGRESS_MS, show);
  };
  show();
  try {
    return await work();
  } finally {
    timer?.[Symbol.dispose]();
    live.clear();
  }
}

function directionOf(from: string, to: string) {
  const [source, target] = [IN_APP.exec(from), IN_APP.exec(to)];
  const inApp = source ?? target;
  if (!inApp || (source && target) || from === "-") {
    throw usageFailure("One of the two places has to be in an app, as APP:/PATH, and the other one here.");
  }
  return { app: inApp[1] ?? "", path: inApp[2] ?? "/", isUpload: target !== null };
}

const HELP = `
The device's owner has to allow it (policy.remote_access: exec in its
configuration), and the API key needs the permission "exec". What is copied into
an app belongs to root there, and is lost with the container unless it is on a
volume. Links in an app are not copied to this machine.

Examples:
  edgectl cp GW-0001 web:/etc/nginx/nginx.conf .
  edgectl cp GW-0001 web:/var/log/app.log - | less
  edgectl cp GW-0001 ./flows.json node-red:/data/flows.json`;
