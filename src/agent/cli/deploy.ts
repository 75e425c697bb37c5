import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { errorEntry, isErrorCode } from "../../protocol/errors.ts";
import { happeningSchema } from "../local/api.ts";
import type { Register } from "./commands.ts";
import { withCommonOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import { Failure } from "./failure.ts";
import { printHappening } from "./happening-view.ts";

const HELP = `
Deploys without a control plane, for the bench and the site with no link: the same checks, steps and events as
ever. The file holds what the API takes; "-" reads it from standard input. Ctrl-C leaves; the deployment goes on.

Example:
  edge-agent deploy -f app.json

  app.json: { "name": "web", "image": "registry.example.com/web:1",
              "ports": [{ "host_port": 30080, "target_port": 80 }] }

Exit codes: 0 the app runs, 1 the deployment failed, 2 the file cannot be used, 3 the agent is not running.`;

export function addDeploy(program: Command, register: Register): void {
  const command = program
    .command("deploy")
    .description("deploy an app from a file, without a control plane")
    .requiredOption("-f, --file <file>", "file with the app, as JSON; - for standard input");
  register(
    withCommonOptions(command).addHelpText("after", HELP),
    async ({ client, printer, io }, _argument, options) => {
      const body = await readApp(String(options["file"]));
      let exitCode: ExitCode = EXIT.wrong;
      for await (const event of client.stream("POST", "/deployments", happeningSchema, {
        body,
        signal: io.interrupted,
      })) {
        if (printer.json) printer.jsonLine(event);
        else printHappening(printer, event);
        if (event.kind !== "event") continue;
        if (event.status === "Success") exitCode = EXIT.ok;
        if (event.status === "Fail" && !printer.json && isErrorCode(event.code)) {
          printer.paragraph("", 0, `What to do: ${errorEntry(event.code).hint}`, printer.theme.cyan);
        }
      }
      return exitCode;
    },
  );
}

async function readApp(path: string): Promise<unknown> {
  let content: string;
  try {
    content = path === "-" ? await text(process.stdin) : readFileSync(path, "utf8");
  } catch (error) {
    throw new Failure(EXIT.usage, `${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? "unknown"}`);
  }
  try {
    return JSON.parse(content) as unknown;
  } catch (error) {
    // The parser's message quotes the text around the mistake, which may hold a secret.
    const place = /line \d+ column \d+|position \d+/.exec(error instanceof Error ? error.message : "")?.[0];
    throw new Failure(EXIT.usage, `${path} is not valid JSON${place === undefined ? "" : ` (${place})`}`);
  }
}
