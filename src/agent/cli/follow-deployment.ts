import { errorEntry, isErrorCode } from "../../protocol/errors.ts";
import type { Context } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import { printActivity } from "./activity-view.ts";

type Details = Readonly<Record<string, unknown>>;

/** Requests a deployment from the daemon, and prints its events until the end. */
export async function followDeployment(
  { client, printer, io }: Pick<Context, "client" | "printer" | "io">,
  path: string,
  body?: unknown,
  /** How people are shown the details of an event. */
  toReadable: (details: Details) => Details = (details) => details,
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
    if (event.status === "Success") exitCode = EXIT.ok;
    if (event.status === "Fail" && !printer.json && isErrorCode(event.code)) {
      printer.paragraph("", 0, `What to do: ${errorEntry(event.code).hint}`, printer.theme.cyan);
    }
  }
  return exitCode;
}
