import { renderTimings } from "../../lib/terminal/timings-table.ts";
import { errorEntry, isErrorCode } from "../../protocol/errors/errors.ts";
import type { Context } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import { printActivity } from "./activity-view.ts";

type Details = Readonly<Record<string, unknown>>;

/** Help text of the option. */
export const TIMINGS = "also show how long each step took, and the container engine's part of it";

export interface FollowOptions {
  /** How people are shown the details of an event. */
  readonly toReadable?: (details: Details) => Details;
  /** Show how long the steps took. */
  readonly timings?: boolean;
}

/** Requests a deployment from the daemon, and prints its events until the end. */
export async function followDeployment(
  { client, printer, io }: Pick<Context, "client" | "printer" | "io">,
  path: string,
  body?: unknown,
  { toReadable = (details) => details, timings = false }: FollowOptions = {},
): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.wrong;
  const options = { ...(body !== undefined && { body }), signal: io.interrupted };
  for await (const event of client.stream("POST", path, "activity", options)) {
    if (printer.json) printer.jsonLine(event);
    else
      printActivity(
        printer,
        event.kind === "event" && event.details ? { ...event, details: toReadable(event.details) } : event,
      );
    if (event.kind !== "event") continue;
    if (timings && !printer.json && event.status !== "Running") printer.line(renderTimings(event, printer));
    if (event.status === "Success") exitCode = EXIT.ok;
    if (event.status === "Fail" && !printer.json && isErrorCode(event.code)) {
      printer.paragraph("", 0, `What to do: ${errorEntry(event.code).hint}`, printer.theme.cyan);
    }
  }
  return exitCode;
}
